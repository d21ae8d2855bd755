"""Taints of node pools with GPUs that the tolerations in the ClusterPolicy of the GPU operator do not match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpuc.catalog import Catalog
from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.toleration import untolerated
from gpuc.lint.checks.references.overlays import types_of
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import tolerations

KEPT_OFF = declare_rule(
    "REF015",
    Severity.ERROR,
    "The pods of the GPU operator do not tolerate a taint of a node pool with GPUs.",
    "The device plugin never runs on these nodes. They advertise no GPU, and pods that request a GPU stay Pending.",
    "NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go (applyCommonDaemonsetConfig)",
)
_TOLERATIONS: Path = ("spec", "daemonsets", "tolerations")
_DEPLOY_LABEL: Final = "nvidia.com/gpu.deploy.operands"
"""The operator runs no pods on nodes where the value of this label is false."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields a finding about the first taint of every pool that the only ClusterPolicy does not tolerate."""
    policies = index.tree.of("nvidia.com", "ClusterPolicy")
    raw = dig(policies[0].body, *_TOLERATIONS) if len(policies) == 1 else None
    if not isinstance(raw, list):
        return
    accepted = tolerations(raw)
    for pool in index.nodes.pools:
        taint = untolerated(pool.taints, accepted)
        if taint and _serves_gpus(index.tree.catalog, pool):
            message = f"nodes of NodePool {pool.name} have the taint {taint}, which these tolerations do not match"
            yield ObjectFinding(KEPT_OFF, policies[0], _TOLERATIONS, message)


def _serves_gpus(catalog: Catalog, pool: Pool) -> bool:
    """Returns whether the pool's nodes have GPUs and the operator runs pods on these nodes."""
    instances = [catalog.instances.get(name) for name in types_of(catalog, pool)]
    has_gpus = any(instance is not None and instance.gpu for instance in instances)
    return pool.labels.get(_DEPLOY_LABEL) != "false" and has_gpus
