from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_in_unit, counted_resources, quota_path, quotas, unit_of


@rule("KRP004", source="aws/karpenter-provider-aws#8068")
def quotas_exceed_capacity(cluster: Cluster) -> Findings:
    """The sum of the quotas for a node pool exceeds the capacity of the node pool.

    Kueue and ResourceQuotas compare workloads with quotas, not with nodes, and accept workloads beyond the capacity.
    The pods of these workloads stay pending, and use quota that other workloads need.
    """
    for pool in cluster.pools:
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.spec.nodes is not None for quota in pool_quotas)
        reported: set[Path] = set()
        for resource in counted_resources(pool):
            capacity = pool.capacity[resource]
            quota_sum = sum(quota.amounts[resource] for quota in pool_quotas)
            subtotal = 0
            for quota in pool_quotas:
                subtotal += quota.amounts[resource]
                if subtotal > capacity:
                    path = quota_path(quota.path, quota.spec, resource)
                    if path not in reported:
                        reported.add(path)
                        total = amount_in_unit(pool, resource, quota_sum, in_nodes=in_nodes)
                        limit = amount_in_unit(pool, resource, capacity, in_nodes=in_nodes)
                        unit = unit_of(pool, resource, in_nodes=in_nodes)
                        actual = f"the sum of the quotas for node pool {pool.name} is {total} {unit}"
                        yield path, f"{actual}; expected at most {limit}, the capacity of the node pool"
                    break
