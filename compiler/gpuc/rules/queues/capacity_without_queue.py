from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, pieces, quotas, unit


@rule("VER004", Severity.INFO)
def capacity_without_queue(cluster: Cluster) -> Findings:
    """No queue has quota for a part of a node pool.

    Kueue admits no workloads beyond the sum of all quotas. Static and reserved nodes beyond this sum are paid for, but
    not used.
    """
    for pool in cluster.pools:
        if pool.spec.leaving:
            continue
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.nodes is not None for _, _, quota in pool_quotas)
        free = []
        for resource in counted(pool):
            most = pool.capacity[resource]
            left = most - sum(pool_quota.nominal[resource] for _, pool_quota, _ in pool_quotas)
            if left > 0:
                name = unit(pool, resource, in_nodes=in_nodes)
                most = pieces(pool, resource, most, in_nodes=in_nodes)
                free.append(f"{pieces(pool, resource, left, in_nodes=in_nodes)} of {most} {name}")
        if free:
            path = (*pool.path, "nodes", "static" if pool.is_static else "max")
            yield path, f"no queue has quota for {', '.join(dict.fromkeys(free))} of node pool {pool.name}"
