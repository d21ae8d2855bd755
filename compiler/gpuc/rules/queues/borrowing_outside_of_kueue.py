from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted_by


@rule("KUE114", source="Kubernetes documentation, resource quotas")
def borrowing_outside_of_kueue(cluster: Cluster) -> Findings:
    """A queue borrows or lends quota of a node pool that ResourceQuotas count.

    A ResourceQuota is a fixed limit of one namespace. Namespaces cannot lend the rest of their quota to each other.
    """
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas if not queue.spec.leaving else ():
            pool, quota = pool_quota.pool, pool_quota.spec
            if pool.counted != "quota" or pool.spec.leaving:
                continue
            for key in ("borrow", "lend"):
                if key in quota.model_fields_set and getattr(quota, key) != 0:
                    verb = f"{key}s"
                    message = (
                        f"queue {queue.name} {verb} quota of node pool {pool.name}, but ResourceQuotas count this pool"
                    )
                    fix = f"remove {key} for node pool {pool.name}, or set counted of node pool {pool.name} to kueue"
                    yield (*pool_quota.path, key), message, fix, counted_by(pool)
