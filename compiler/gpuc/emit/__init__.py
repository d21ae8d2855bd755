"""Emitters: functions that turn the resolved cluster into Kubernetes objects and files, one module per component."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.argocd import argocd
from gpuc.emit.component import needed_components
from gpuc.emit.monitoring import monitoring
from gpuc.emit.tenants import tenants
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Artifact
from gpuc.model import Cluster


def emit_by_component(cluster: Cluster) -> Iterator[list[Artifact]]:
    """Yields the artifacts of each emitter, components first. All artifacts of one file come from the same emitter."""
    emitters = [component.artifacts for component in needed_components(cluster) if component.artifacts]
    return (list(emitter(cluster)) for emitter in (*emitters, tenants, monitoring, workloads, argocd))


def emit(cluster: Cluster) -> list[Artifact]:
    """Returns all artifacts of a cluster, in the order of the emitters."""
    return [artifact for artifacts in emit_by_component(cluster) for artifact in artifacts]
