"""Alerts for queues that admit no workloads, and for admitted workloads that do not start.

Both replicas of Kueue export gauges, and the gauges of the follower are late or wrong: the leader counts a waiting
workload that Kueue has tried as inadmissible, and the follower counts it as active. The alerts use the gauges of the
leader.

Source: kubernetes-sigs/kueue v0.19.2 pkg/metrics/metrics.go, pkg/util/roletracker
"""

from collections.abc import Iterator
from pathlib import Path

from gpuc.emit.alerts.alert import Alert, Record, alert, any_of, events, records
from gpuc.emit.substrate import substrate_output
from gpuc.model import Cluster
from gpuc.model.time_limits import pods_ready_minutes


def queue_records(cluster: Cluster) -> Iterator[Record]:
    """Yields recording rules for the quota of each queue on each GPU pool: nominal, used, borrowed and lent."""
    yield from records(Path(__file__).parent) if cluster.gpu_pools else ()


def queue_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for queues that admit no workloads, and for admitted workloads that do not start."""
    names = any_of(part.name for queue in cluster.queues for part in queue.cluster_queues)
    queues, minutes = f'cluster_queue=~"{names}"', pods_ready_minutes(cluster)
    leader = f'{queues},replica_role!="follower"'
    yield alert("GpucQueueInactive", leader=leader)
    yield alert("GpucQueueStuck", minutes=minutes, stuck=_stuck(queues, minutes), limit=minutes)
    evicted = f'kueue_evicted_workloads_total{{{queues},reason="PodsReadyTimeout"}}'
    yield alert(
        "GpucPodsNotReady", evicted=events(evicted, 60), limit=minutes, machines=substrate_output(cluster).machines
    )
    failed = f'kueue_evicted_workloads_total{{{queues},reason="NodeFailures"}}'
    yield alert("GpucNodeFailureEvictions", evicted=events(failed, 60))
    yield from (alert(name, queues=queues) for name in ("GpucEvictLoop", "GpucWaitTooLong"))


def _stuck(queues: str, minutes: int) -> str:
    """Returns PromQL for queues that admit nothing although every pool that is large enough has free nominal quota.

    The metrics do not show for which pool a workload waits. So a queue counts as full if one of its pools has less free
    quota than the waiting workloads request on average: a workload can wait for this pool. Pools whose nominal quota
    is less than the average are not considered, because no average workload waits for them.
    """
    leader = 'replica_role!="follower"'
    by_flavor = "max by (cluster_queue, flavor, resource)"
    nominal = f"{by_flavor} (kueue_cluster_queue_nominal_quota{{{leader}}})"
    reserved = f"{by_flavor} (kueue_cluster_queue_resource_reservation{{{leader}}})"
    requested = f"max by (cluster_queue, resource) (kueue_cluster_queue_resource_pending{{{leader}}})"
    waiting = "sum by (cluster_queue) (kueue_pending_workloads{%s})"
    average = f"({requested} / on (cluster_queue) group_left () {waiting % leader} > 0)"
    large = f"{nominal} >= on (cluster_queue, resource) group_left () {average}"
    full = f"({large}) - {reserved} < on (cluster_queue, resource) group_left () {average}"
    admitted = f"sum by (cluster_queue) {events('kueue_admitted_workloads_total', minutes)} > 0"
    return "\n".join(
        (
            f"{waiting % f'{queues},{leader}'} > 0",
            f"and on (cluster_queue) ({large})",
            f"unless on (cluster_queue) ({full})",
            f"unless on (cluster_queue) ({admitted})",
        )
    )
