from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE108", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def topology_beside_plain_pools(cluster: Cluster) -> Findings:
    """A queue mixes pools with and without topology.

    Kueue admits workloads without a topology request to pools with a topology only if all pools of the queue have one.
    In a mixed queue such workloads never get the nodes with a topology.
    """
    for queue in cluster.queues:
        for part in queue.cluster_queues:
            with_levels = [pool.name for pool in part.pools if pool.spec.topology]
            plain = [share for share in part.shares if not share.pool.spec.topology]
            if with_levels and plain:
                quota = queue.spec.quota[plain[0].pool.name]
                key = next(key for key in ("nodes", "shares", "slices", "gpus") if getattr(quota, key) is not None)
                message = f"{plain[0].pool.name} has no topology, but {', '.join(with_levels)} of the same queue has"
                yield (*plain[0].path, key), message
