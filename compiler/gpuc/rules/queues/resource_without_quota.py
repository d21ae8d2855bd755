from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted, unit


@rule("QTA011", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def resource_without_quota(cluster: Cluster) -> Findings:
    """A ClusterQueue covers a resource, but has no quota for it and cannot borrow any.

    Kueue never admits a workload that requests the resource.
    """
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            most = [(pool_quota, cluster.ceiling(queue, pool_quota)) for pool_quota in part.pool_quotas]
            reachable = {name for _, vector in most for name, amount in vector.items() if amount}
            if any(pool_quota.pool.spec.leaving for pool_quota in part.pool_quotas) or queue.spec.leaving:
                continue  # the queue intentionally admits no new work
            reported: set[str] = set()
            for pool_quota, vector in most:
                for resource in counted(pool_quota.pool):
                    if resource in vector and resource not in reachable | reported:
                        reported.add(resource)
                        key = "slices" if queue.spec.quota[pool_quota.pool.name].slices else "gpus"
                        name = f"{unit(pool_quota.pool, resource)} of node pool {pool_quota.pool.name}"
                        message = f"queue {queue.name} has no quota for {name} and can borrow none"
                        yield (*pool_quota.path, key), message
