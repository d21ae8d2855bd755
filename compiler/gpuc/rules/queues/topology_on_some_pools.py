from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path


@rule("KUE108", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def topology_on_some_pools(cluster: Cluster) -> Findings:
    """A queue has both node pools with a topology and node pools without a topology.

    Kueue admits workloads without a topology request to node pools with a topology only if all node pools of the
    ClusterQueue have a topology.
    """
    for queue in cluster.queues:
        for cluster_queue in queue.cluster_queues:
            with_topology = [pool for pool in cluster_queue.pools if pool.spec.topology]
            without_topology = [
                pool_quota for pool_quota in cluster_queue.pool_quotas if not pool_quota.pool.spec.topology
            ]
            if with_topology and without_topology:
                first = without_topology[0]
                names = ", ".join(pool.name for pool in with_topology)
                related = [
                    Related(f"node pool {pool.name} has a topology", (*pool.path, "topology"), on_key=True)
                    for pool in with_topology
                ]
                message = (
                    f"queue {queue.name} has node pool {first.pool.name} without a topology and {names} with a topology"
                )
                yield amount_path(first.path, first.spec), message, "", related
