from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path, counted_by


@rule("KUE113")
def queue_with_pool_counted_by_quota(cluster: Cluster) -> Findings:
    """A queue has quota for a node pool that ResourceQuotas count.

    Kueue and the ResourceQuotas would both give away the GPUs of the pool. Workloads that Kueue admits would wait for
    GPUs that pods outside of Kueue use. To change `counted` of a pool to quota, first set `leaving` of its queues to
    true.
    """
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas if not queue.spec.leaving else ():
            pool = pool_quota.pool
            if pool.counted == "quota" and not pool.spec.leaving:
                path = amount_path(pool_quota.path, pool_quota.spec)
                message = f"queue {queue.name} has quota for node pool {pool.name}, but ResourceQuotas count this pool"
                tenants = " or ".join(queue.tenant_names)
                fix = f"move the quota to quota of a namespace of tenant {tenants}"
                yield path, message, f"{fix}, or set counted of node pool {pool.name} to kueue", counted_by(pool)
