from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.units import unit_name
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import counted_resources


@rule("QTA011", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def resource_without_quota(cluster: Cluster) -> Findings:
    """A ClusterQueue covers a resource, but has no quota for the resource and cannot borrow quota.

    Kueue never admits a workload that requests the resource.
    """
    for queue in cluster.queues:
        for cluster_queue in queue.cluster_queues:
            ceilings = [(pool_quota, cluster.ceiling(queue, pool_quota)) for pool_quota in cluster_queue.pool_quotas]
            usable = {name for _, amounts in ceilings for name, amount in amounts.items() if amount}
            if any(pool_quota.pool.spec.leaving for pool_quota in cluster_queue.pool_quotas) or queue.spec.leaving:
                continue  # the queue intentionally admits no new workloads
            reported: set[str] = set()
            for pool_quota, amounts in ceilings:
                for resource in counted_resources(pool_quota.pool):
                    if resource in amounts and resource not in usable | reported:
                        reported.add(resource)
                        key = "slices" if queue.spec.quota[pool_quota.pool.name].slices else "gpus"
                        pool = pool_quota.pool
                        name = f"{unit_name(pool, resource) or resource} of node pool {pool.name}"
                        message = f"queue {queue.name} has no quota for {name} and cannot borrow any"
                        yield (*pool_quota.path, key), message
