"""Emitters: the resolved cluster in, plain data out, one module per component."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuc.emit.argocd import argocd
from gpuc.emit.efa import efa
from gpuc.emit.gatekeeper import gatekeeper
from gpuc.emit.gpu_operator import gpu_operator
from gpuc.emit.karpenter import karpenter
from gpuc.emit.kueue import kueue
from gpuc.emit.monitoring import monitoring
from gpuc.emit.tenants import tenants
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Artifact
from gpuc.model import Cluster

EMITTERS: tuple[Callable[[Cluster], Iterator[Artifact]], ...] = (
    gatekeeper,
    karpenter,
    gpu_operator,
    efa,
    kueue,
    tenants,
    monitoring,
    workloads,
    argocd,
)
"""In the order in which Argo CD syncs what they emit."""


def emit_by_component(cluster: Cluster) -> Iterator[list[Artifact]]:
    """What each emitter makes of a cluster, in their order; a file's artifacts all come from one of them."""
    return (list(emitter(cluster)) for emitter in EMITTERS)


def emit(cluster: Cluster) -> list[Artifact]:
    """All that is written for a cluster, in the order of the emitters."""
    return [artifact for artifacts in emit_by_component(cluster) for artifact in artifacts]
