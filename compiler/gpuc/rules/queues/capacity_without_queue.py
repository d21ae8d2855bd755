from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_in_unit, counted_resources, quotas, unit_of


@rule("VER004", Severity.INFO)
def capacity_without_queue(cluster: Cluster) -> Findings:
    """The quotas of all queues together are less than the capacity of a node pool.

    Kueue admits no workloads beyond the sum of all quotas. Static and reserved nodes beyond this sum are paid for, but
    not used.
    """
    for pool in cluster.pools:
        if pool.spec.leaving:
            continue
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.nodes is not None for _, _, quota in pool_quotas)
        unused = []
        for resource in counted_resources(pool):
            capacity = pool.capacity[resource]
            rest = capacity - sum(pool_quota.nominal[resource] for _, pool_quota, _ in pool_quotas)
            if rest > 0:
                unit = unit_of(pool, resource, in_nodes=in_nodes)
                total = amount_in_unit(pool, resource, capacity, in_nodes=in_nodes)
                unused.append(f"{amount_in_unit(pool, resource, rest, in_nodes=in_nodes)} of {total} {unit}")
        if unused:
            path = (*pool.path, "nodes", "static" if pool.is_static else "max")
            yield path, f"no queue has quota for {', '.join(dict.fromkeys(unused))} of node pool {pool.name}"
