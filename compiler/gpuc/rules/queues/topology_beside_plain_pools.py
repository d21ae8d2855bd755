from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE108", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def topology_beside_plain_pools(cluster: Cluster) -> Findings:
    """A queue mixes node pools with and without a topology.

    In such a queue Kueue does not admit workloads without a topology request to the node pools with a topology. It does
    so only if all node pools of the queue have a topology.
    """
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            with_levels = [pool.name for pool in part.pools if pool.spec.topology]
            plain = [pool_quota for pool_quota in part.pool_quotas if not pool_quota.pool.spec.topology]
            if with_levels and plain:
                quota = queue.spec.quota[plain[0].pool.name]
                key = next(key for key in ("nodes", "shares", "slices", "gpus") if getattr(quota, key) is not None)
                message = (
                    f"queue {queue.name} has node pool {plain[0].pool.name} without a topology "
                    f"and {', '.join(with_levels)} with a topology"
                )
                yield (*plain[0].path, key), message
