"""Cases of the alerts for queues that admit no workloads, and for admitted workloads that do not start."""

from collections.abc import Iterator

from gpuc.kubernetes.amounts import CPU
from gpuc.model import Cluster, ClusterQueue
from gpuc.model.time_limits import pods_ready_minutes
from tests.alerts.case import Case, table_cases
from tests.alerts.series import KUEUE, KUEUE_FOLLOWER

LONG = 250


def cases(cluster: Cluster) -> Iterator[Case]:
    queues = [part for queue in cluster.queues for part in queue.cluster_queues]
    yield from table_cases("queues", queue=queues[0].name)
    yield from table_cases("evictions", queue=queues[0].name)
    yield from table_cases("waiting", queue=queues[0].name)
    minutes = pods_ready_minutes(cluster)
    for queue in queues:
        yield from _stuck(queue, minutes)


class QueueMetrics:
    """The metrics of one ClusterQueue, of both replicas of Kueue."""

    def __init__(self, queue: ClusterQueue) -> None:
        self.queue = queue
        quota = queue.pool_quotas[0]
        names = [name for name in quota.pool.gpu_resource_names if quota.nominal.get(name)]
        self.resource = names[0] if names else CPU
        """A GPU resource of the first pool; without GPUs the CPU."""
        amounts = [found for quota in queue.pool_quotas if (found := quota.nominal.get(self.resource, 0))]
        scale = 1000 if self.resource == CPU else 1
        self.unit = min(amounts) / scale / 4
        """A quarter of the smallest quota that a pool has of the resource, as Kueue writes it."""
        self.most = max(amounts) / scale

    def series(self, used: dict[str, float], workloads: int, amount: float) -> dict[str, str]:
        """Returns the quota, the used fraction by pool (0 for other pools), and waiting workloads with their requests.

        The follower shows another status for each workload.
        """
        found = {}
        for controller, status in ((KUEUE, "inadmissible"), (KUEUE_FOLLOWER, "active")):
            for quota in self.queue.pool_quotas:
                for resource in self.queue.covered_resources:
                    nominal = quota.nominal.get(resource, 0)
                    reserved = int(nominal * used.get(quota.pool.name, 0))
                    labels = {"cohort": "main", "flavor": quota.pool.name, "resource": resource}
                    for metric, value in (("nominal_quota", nominal), ("resource_reservation", reserved)):
                        name = controller.series(
                            f"kueue_cluster_queue_{metric}", cluster_queue=self.queue.name, **labels
                        )
                        found[name] = f"{value / 1000 if resource == CPU else value:.10g}x{LONG}"
            for kind in ("active", "inadmissible"):
                name = controller.series("kueue_pending_workloads", cluster_queue=self.queue.name, status=kind)
                found[name] = f"{workloads if kind == status else 0}x{LONG}"
            for resource in self.queue.covered_resources:
                metric = "kueue_cluster_queue_resource_pending"
                name = controller.series(metric, cluster_queue=self.queue.name, resource=resource)
                found[name] = f"{amount if resource == self.resource else 0:.10g}x{LONG}"
        return found


def _stuck(queue: ClusterQueue, minutes: int) -> Iterator[Case]:
    metrics, name = QueueMetrics(queue), f"ClusterQueue {queue.name}"
    late = f"{2 * minutes + 3}m"
    everything = {quota.pool.name: 1.0 for quota in queue.pool_quotas}
    first = {queue.pool_quotas[0].pool.name: 1.0}
    admitted = KUEUE.series("kueue_admitted_workloads_total", cluster_queue=queue.name)
    # The follower still shows a workload that has ended.
    stale = KUEUE_FOLLOWER.series("kueue_pending_workloads", cluster_queue=queue.name, status="active")
    for title, series, more, expected in (
        (
            f"{name} admits nothing although all its quota is free",
            metrics.series({}, 2, 2 * metrics.unit),
            {},
            {f"{minutes - 2}m": [], late: [{"cluster_queue": queue.name}]},
        ),
        (
            f"C23: a full and healthy queue: long runs use the quota of {name}, and other runs wait",
            metrics.series(everything, 3, 3 * metrics.unit),
            {admitted: f"5x{LONG}"},
            {late: [], "200m": []},
        ),
        (
            f"C23: the first pool of {name} is full, and a workload may wait for this pool",
            metrics.series(first, 1, metrics.unit),
            {},
            {late: []},
        ),
        (
            f"C23: a workload needs more than the free half of {name}",
            metrics.series(dict.fromkeys(everything, 0.5), 1, 0.75 * metrics.most),
            {},
            {late: []},
        ),
        (
            f"C24: the first admission of {name}, with which the counter begins",
            metrics.series({}, 2, 2 * metrics.unit),
            {admitted: f"_x{minutes + 5} 1x{LONG}"},
            {f"{minutes + 6}m": [], f"{2 * minutes + 4}m": []},
        ),
        (
            f"the second Kueue replica shows a waiting workload of {name}, the leader shows none",
            metrics.series({}, 0, 0),
            {stale: f"1x{LONG}"},
            {late: []},
        ),
    ):
        yield Case(title, "GpucQueueStuck", {**series, **more}, expected)
