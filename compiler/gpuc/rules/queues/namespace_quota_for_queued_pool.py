from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path, counted_by


@rule("KUE115")
def namespace_quota_for_queued_pool(cluster: Cluster) -> Findings:
    """A namespace has quota for a node pool that Kueue counts.

    Pods outside of Kueue would use GPUs that Kueue gives to queued workloads, whose pods then stay pending.
    """
    for tenant, namespace in cluster.namespaces:
        for quota in namespace.quotas:
            pool = quota.pool.name
            if quota.pool.counted == "kueue":
                message = f"namespace {namespace.name} has quota for node pool {pool}, but Kueue counts this pool"
                fix = f"move the quota to a queue of tenant {tenant.name}"
                if quota.pool.is_gpu:
                    fix += f", or set counted of node pool {pool} to quota"
                yield amount_path(quota.path, quota.spec), message, fix, counted_by(quota.pool)
