from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, pieces, quotas, unit


@rule("VER004", Severity.INFO)
def capacity_without_queue(cluster: Cluster) -> Findings:
    """Part of a pool belongs to no queue.

    No queued work ever starts nodes beyond the sum of all quotas. On static or reserved pools these nodes are paid for.
    """
    for pool in cluster.pools:
        if pool.spec.leaving:
            continue
        shares = list(quotas(cluster, pool))
        in_nodes = all(quota.nodes is not None for _, _, quota in shares)
        free = []
        for resource in counted(pool):
            most = pool.capacity[resource]
            left = most - sum(share.nominal[resource] for _, share, _ in shares)
            if left > 0:
                name = unit(pool, resource, in_nodes=in_nodes)
                most = pieces(pool, resource, most, in_nodes=in_nodes)
                free.append(f"{pieces(pool, resource, left, in_nodes=in_nodes)} of {most} {name}")
        if free:
            path = (*pool.path, "nodes", "static" if pool.is_static else "max")
            yield path, f"{', '.join(dict.fromkeys(free))} of {pool.name} belong to no queue"
