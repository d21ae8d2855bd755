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
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.nodes is not None for _, _, quota in pool_quotas)
        reported: set[Path] = set()
        for resource in counted(pool):
            most = pool.capacity[resource]
            quota_sum = sum(pool_quota.nominal[resource] for _, pool_quota, _ in pool_quotas)
            running = 0
            for _, pool_quota, quota in pool_quotas:
                running += pool_quota.nominal[resource]
                if running > most:
                    path = leaf(pool_quota, quota, resource)
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
