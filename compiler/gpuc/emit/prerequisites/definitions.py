"""Definitions of the kinds of users' manifests that no component brings."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.objects.object_set import group


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about definitions for users' manifests; None if the components bring all definitions."""
    brought = {name for release in cluster.components.values() for name in release.groups}
    groups = sorted({group(manifest) for manifest in cluster.user_manifests if is_custom(group(manifest))} - brought)
    rows: list[Row] = [("definition", ("spec",), {"name": name}) for name in groups]
    title, charts = "Definitions for the manifests", sorted(cluster.spec.charts)
    return written(cluster, "definitions", title, rows, groups=groups, charts=charts) if rows else None


def is_custom(api_group: str) -> bool:
    """Returns whether an API group is not part of Kubernetes."""
    return "." in api_group and (not api_group.endswith(".k8s.io") or api_group.endswith(".x-k8s.io"))
