from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.units import quota_unit
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted_resources, owner_kind, quotas


@rule("VER004", Severity.INFO)
def capacity_without_queue(cluster: Cluster) -> Findings:
    """The quotas for a node pool together are less than the capacity of the node pool.

    No workload can use a pool beyond the sum of the quotas: of queues, or of namespaces if `counted` of the pool is
    quota. Static and reserved nodes beyond this sum are paid for, but not used. Without tenants, all namespaces can use
    the nodes.
    """
    for pool in cluster.pools if cluster.tenants else ():
        if pool.spec.leaving:
            continue
        pool_quotas = list(quotas(cluster, pool))
        in_nodes = all(quota.spec.nodes is not None for quota in pool_quotas)
        unused = []
        for resource in counted_resources(pool):
            capacity = pool.capacity[resource]
            rest = capacity - sum(quota.amounts[resource] for quota in pool_quotas)
            if rest > 0:
                unit = quota_unit(pool, resource, in_nodes=in_nodes)
                unused.append(f"{unit.count(rest)} of {unit.count(capacity)} {unit.name}")
        if unused:
            path = (*pool.path, "nodes", "static" if pool.is_static else "max")
            amounts = ", ".join(dict.fromkeys(unused))
            yield path, without_quota(owner_kind(pool), f"{amounts} of node pool {pool.name}")


def without_quota(owners: str, what: str) -> str:
    """Returns the message that no quota counts some or all nodes of a node pool."""
    return f"no {owners} has quota for {what}"
