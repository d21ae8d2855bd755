from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, leaf, pieces, quotas, unit


@rule("KRP004", source="aws/karpenter-provider-aws#8068")
def quotas_exceed_capacity(cluster: Cluster) -> Findings:
    """The sum of the quotas for a node pool exceeds the capacity of the node pool.

    Kueue compares workloads with quotas, not with nodes. It admits workloads beyond the capacity. Their pods stay
    pending, and use quota that other workloads need.
    """
    for pool in cluster.pools:
        shares = list(quotas(cluster, pool))
        in_nodes = all(quota.nodes is not None for _, _, quota in shares)
        reported: set[Path] = set()
        for resource in counted(pool):
            most = pool.capacity[resource]
            quota_sum = sum(share.nominal[resource] for _, share, _ in shares)
            running = 0
            for _, share, quota in shares:
                running += share.nominal[resource]
                if running > most:
                    path = leaf(share, quota, resource)
                    if path not in reported:
                        reported.add(path)
                        total = pieces(pool, resource, quota_sum, in_nodes=in_nodes)
                        limit = pieces(pool, resource, most, in_nodes=in_nodes)
                        pieces_name = unit(pool, resource, in_nodes=in_nodes)
                        message = (
                            f"the quotas for node pool {pool.name} are {total} {pieces_name}; expected at most {limit}"
                        )
                        yield path, message
                    break
