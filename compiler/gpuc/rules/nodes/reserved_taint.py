from __future__ import annotations

from gpuc.catalog.reserved_keys import reserved_domain
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT
from gpuc.rules import Findings, rule


@rule("KRP142", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/taints.go")
def reserved_taint(cluster: Cluster) -> Findings:
    """A taint of the spec is reserved for Kubernetes, Karpenter, AWS, NVIDIA or gpuc.

    Controllers add and remove these taints. A node with such a taint never becomes ready, or pods tolerate the taint by
    default.
    """
    for pool in cluster.pools:
        for index, taint in enumerate(pool.spec.taints):
            if taint.key == SYSTEM_TAINT or reserved_domain(taint.key):
                message = f"the key {taint.key} of a taint of node pool {pool.name} is reserved"
                yield (*pool.path, "taints", index, "key"), f"{message}; expected a key with a domain of your own"
