"""Cases of the alerts for queues that admit no workloads, and for admitted workloads that do not start."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.amounts import CPU
from gpuc.model import Cluster, ClusterQueue
from gpuc.model.time_limits import pods_ready_minutes
from tests.alerts.case import Case, Fired
from tests.alerts.series import KUEUE, KUEUE_FOLLOWER, Controller

LONG = 250


def cases(cluster: Cluster) -> Iterator[Case]:
    queues = [part for queue in cluster.queues for part in queue.cluster_queues]
    yield from _inactive(queues[0].name)
    minutes = pods_ready_minutes(cluster)
    for queue in queues:
        yield from _stuck(queue, minutes)
    yield from _not_ready(queues[0].name)


def _status(queue: str, controller: Controller = KUEUE) -> dict[str, str]:
    return {
        status: controller.series("kueue_cluster_queue_status", cluster_queue=queue, status=status)
        for status in ("active", "pending", "terminating")
    }


def _inactive(queue: str) -> Iterator[Case]:
    leader, follower = _status(queue), _status(queue, KUEUE_FOLLOWER)
    yield Case(
        "a queue whose ResourceFlavor is missing; the second Kueue replica still shows the old status",
        "GpucQueueInactive",
        {leader["active"]: "1x20 0x60", leader["pending"]: "0x20 1x60", follower["active"]: "1x80"},
        {"25m": [], "33m": [Fired({"cluster_queue": queue})]},
    )
    yield Case(
        "an active queue; the second Kueue replica shows another status",
        "GpucQueueInactive",
        {leader["active"]: "1x80", leader["pending"]: "0x80", follower["active"]: "0x80", follower["pending"]: "1x80"},
        {"60m": []},
    )


class _Metrics:
    """The metrics of one ClusterQueue, of both replicas of Kueue."""

    def __init__(self, queue: ClusterQueue) -> None:
        self.queue = queue
        self.series: dict[str, str] = {}
        for quota in queue.pool_quotas:
            for resource in queue.covered_resources:
                self._flavor("nominal_quota", quota.pool.name, resource, quota.nominal.get(resource, 0))

    @property
    def resource(self) -> str:
        """A GPU resource of the first pool; without GPUs the CPU."""
        quota = self.queue.pool_quotas[0]
        names = [name for name in quota.pool.gpu_resource_names if quota.nominal.get(name)]
        return names[0] if names else CPU

    def _flavor(self, metric: str, flavor: str, resource: str, amount: int) -> None:
        value = amount / 1000 if resource == CPU else amount
        for controller in (KUEUE, KUEUE_FOLLOWER):
            series = controller.series(
                f"kueue_cluster_queue_{metric}",
                cohort="main",
                cluster_queue=self.queue.name,
                flavor=flavor,
                resource=resource,
            )
            self.series[series] = f"{value:.10g}x{LONG}"

    def reserved(self, used: dict[str, float]) -> None:
        """Sets the fraction of the quota that is reserved, by pool; 0 for other pools."""
        for quota in self.queue.pool_quotas:
            for resource in self.queue.covered_resources:
                amount = quota.nominal.get(resource, 0) * used.get(quota.pool.name, 0)
                self._flavor("resource_reservation", quota.pool.name, resource, int(amount))

    def waiting(self, workloads: int, amount: float, leader: str = "inadmissible") -> None:
        """Sets the waiting workloads with their requests. The follower shows another status for each workload."""
        name = self.queue.name
        for controller, status in ((KUEUE, leader), (KUEUE_FOLLOWER, "active")):
            for kind in ("active", "inadmissible"):
                series = controller.series("kueue_pending_workloads", cluster_queue=name, status=kind)
                self.series[series] = f"{workloads if kind == status else 0}x{LONG}"
            for resource in self.queue.covered_resources:
                series = controller.series(
                    "kueue_cluster_queue_resource_pending", cluster_queue=name, resource=resource
                )
                self.series[series] = f"{amount if resource == self.resource else 0:.10g}x{LONG}"

    def admitted(self, values: str) -> None:
        series = KUEUE.series("kueue_admitted_workloads_total", cluster_queue=self.queue.name, priority_class="")
        self.series[series] = values

    def unit(self) -> float:
        """The smallest amount of the resource in the quota of all pools that have the resource, as Kueue writes it."""
        amounts = [quota.nominal[self.resource] for quota in self.queue.pool_quotas if quota.nominal.get(self.resource)]
        return min(amounts) / (1000 if self.resource == CPU else 1) / 4


def _stuck(queue: ClusterQueue, minutes: int) -> Iterator[Case]:
    fired = [Fired({"cluster_queue": queue.name})]
    late = f"{2 * minutes + 3}m"
    everything = {quota.pool.name: 1.0 for quota in queue.pool_quotas}
    free = _Metrics(queue)
    free.reserved({})
    free.waiting(2, 2 * free.unit())
    yield Case(
        f"ClusterQueue {queue.name} admits nothing although all its quota is free",
        "GpucQueueStuck",
        {**free.series},
        {f"{minutes - 2}m": [], late: fired},
    )
    full = _Metrics(queue)
    full.reserved(everything)
    full.waiting(3, 3 * full.unit())
    full.admitted(f"5x{LONG}")
    yield Case(
        f"C23: a full and healthy queue: long runs use the quota of ClusterQueue {queue.name}, and other runs wait",
        "GpucQueueStuck",
        {**full.series},
        {late: [], "200m": []},
    )
    one = _Metrics(queue)
    one.reserved({queue.pool_quotas[0].pool.name: 1.0})
    one.waiting(1, one.unit())
    yield Case(
        f"C23: the first pool of ClusterQueue {queue.name} is full, and a workload may wait for this pool",
        "GpucQueueStuck",
        {**one.series},
        {late: []},
    )
    large = _Metrics(queue)
    large.reserved(dict.fromkeys(everything, 0.5))
    large.waiting(
        1,
        0.75
        * max(quota.nominal.get(large.resource, 0) for quota in queue.pool_quotas)
        / (1000 if large.resource == CPU else 1),
    )
    yield Case(
        f"C23: a workload needs more than the free half of ClusterQueue {queue.name}",
        "GpucQueueStuck",
        {**large.series},
        {late: []},
    )
    slow = _Metrics(queue)
    slow.reserved({})
    slow.waiting(2, 2 * slow.unit())
    slow.admitted(f"_x{minutes + 5} 1x{LONG}")
    yield Case(
        f"C24: the first admission of ClusterQueue {queue.name}, with which the counter begins",
        "GpucQueueStuck",
        {**slow.series},
        {f"{minutes + 6}m": [], f"{2 * minutes + 4}m": []},
    )
    empty = _Metrics(queue)
    empty.reserved({})
    empty.waiting(0, 0)
    # The follower still shows a workload that has ended.
    stale = KUEUE_FOLLOWER.series("kueue_pending_workloads", cluster_queue=queue.name, status="active")
    yield Case(
        f"the second Kueue replica shows a waiting workload of ClusterQueue {queue.name}, the leader shows none",
        "GpucQueueStuck",
        {**empty.series, stale: f"1x{LONG}"},
        {late: []},
    )


def _not_ready(queue: str) -> Iterator[Case]:
    def evicted(reason: str) -> str:
        return KUEUE.series(
            "kueue_evicted_workloads_total",
            cluster_queue=queue,
            reason=reason,
            underlying_cause="WaitForStart",
            priority_class="",
        )

    yield Case(
        "C24: the first workload whose pods do not start, with which the counter begins",
        "GpucPodsNotReady",
        {evicted("PodsReadyTimeout"): "_x30 1x200"},
        {"29m": [], "31m": [Fired({"cluster_queue": queue})], "100m": []},
    )
    yield Case(
        "workloads that Kueue evicts for other reasons",
        "GpucPodsNotReady",
        {evicted("Preempted"): "0+1x200", evicted("PodsReadyTimeout"): "4x200"},
        {"125m": [], "180m": []},
    )
