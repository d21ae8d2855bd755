from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, leaf, pieces, quotas, unit


@rule("KRP004", source="aws/karpenter-provider-aws#8068")
def quotas_exceed_capacity(cluster: Cluster) -> Findings:
    """The quotas of a node pool are larger than its nodes.

    Kueue admits workloads against quota, not against nodes. Workloads beyond the capacity are admitted but never
    scheduled, and hold quota that others could use.
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
                        yield path, f"{total} {pieces_name} of {pool.name} promised, at most {limit} can exist"
                    break
