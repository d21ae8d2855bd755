"""Definitions of the kinds of users' manifests that no component brings."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.model import Cluster
from gpuc.objects.object_set import group


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about definitions for users' manifests; None if the components bring all definitions."""
    brought = {name for release in cluster.components.values() for name in release.groups}
    groups = sorted({group(manifest) for manifest in cluster.user_manifests if is_custom(group(manifest))} - brought)
    if not groups:
        return None
    prerequisites = tuple(
        Prerequisite(
            id=f"definition/{name}",
            what=f"the definitions of the API group `{name}`",
            reason="without the definitions, the Application with the manifests fails",
            checks=(f"{kubectl(cluster)} api-resources --api-group={name}",),
            expected="the kinds of the manifests",
            path=("spec",),
        )
        for name in groups
    )
    values = {"groups": groups, "charts": sorted(cluster.spec.charts)}
    return Chapter("Definitions for the manifests", "definitions.md.j2", prerequisites, values)


def is_custom(api_group: str) -> bool:
    """Returns whether an API group is not part of Kubernetes."""
    return "." in api_group and (not api_group.endswith(".k8s.io") or api_group.endswith(".x-k8s.io"))
