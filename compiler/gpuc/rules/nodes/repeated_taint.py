from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP143", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodeclaim_validation.go (validateTaintsField)")
def repeated_taint(cluster: Cluster) -> Findings:
    """Two taints of a node pool have the same key and the same effect.

    Karpenter refuses the NodePool, and starts no node.
    """
    for pool in cluster.pools:
        earlier: dict[tuple[str, str], int] = {}
        for index, taint in enumerate(pool.spec.taints):
            first = earlier.setdefault((taint.key, taint.effect), index)
            if first != index:
                message = f"node pool {pool.name} has two taints with the key {taint.key} and the effect {taint.effect}"
                related = [Related("the first taint", (*pool.path, "taints", first))]
                yield (*pool.path, "taints", index), f"{message}; expected one", "", related
