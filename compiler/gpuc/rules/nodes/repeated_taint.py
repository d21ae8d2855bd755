from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP143", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodeclaim_validation.go (validateTaintsField)")
def repeated_taint(cluster: Cluster) -> Findings:
    """Two taints of a node pool have the same key and the same effect.

    Karpenter refuses the NodePool, and starts no node.
    """
    for pool in cluster.pools:
        earlier = set()
        for index, taint in enumerate(pool.spec.taints):
            if (taint.key, taint.effect) in earlier:
                message = f"node pool {pool.name} has two taints with the key {taint.key} and the effect {taint.effect}"
                yield (*pool.path, "taints", index), f"{message}; expected one"
            earlier.add((taint.key, taint.effect))
