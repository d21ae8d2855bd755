"""Alerts: what each pool and queue promises, as PromQL that says when it is not so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gpuc.emit.kueue import pods_ready_minutes, queued_pools
from gpuc.kubernetes.amounts import quantity_text
from gpuc.model import Cluster, Pool

IDLE_SHARE = 0.05
"""Of the time that the GPU's engines work, below which work holds a GPU for nothing."""
IDLE_MINUTES = {"training": 30, "inference": 360, "interactive": 120}
"""How long work may hold an idle GPU, by the pool's purpose: training that stands still has failed."""
NODE_MINUTES = 20
"""How long a NodeClaim may take until its node is of use, where no pool's own boot takes longer."""
BLOCK_END_SECONDS = 24 * 3600
EXTRA_XIDS = (48, 63, 64, 74, 79, 94, 95)
"""Reported whatever the catalog says of taking the node out."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alerting rule."""

    name: str
    expression: str
    summary: str
    minutes: int = 0
    """How long the expression has to hold."""
    severity: str = "warning"
    keep_minutes: int = 0
    """How long it goes on firing afterwards."""
    labels: tuple[tuple[str, str], ...] = ()
    """What tells its alerts from those of rules with the same name, beside what the series carry."""


def gpu_alerts(cluster: Cluster) -> Iterator[Alert]:
    """GPUs that break, that are not what their pool advertises, or that are held for nothing."""
    if not cluster.gpu_pools:
        return
    yield from _xids(cluster)
    rows = "max by (hostname, gpu, UUID) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0"
    yield Alert(
        "GpucRowRemapFailure", rows, "GPU memory can no longer be repaired: replace the node", severity="critical"
    )
    for pool in cluster.gpu_pools:
        yield from _advertised(pool)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        state = 'kube_node_labels{label_nvidia_com_mig_config_state=~"failed|pending"} == 1'
        summary = "the MIG manager does not reach the node's layout"
        yield Alert("GpucMigLayoutNotReached", state, summary, minutes=15, severity="critical")
    yield from _idle(cluster)


def _xids(cluster: Cluster) -> Iterator[Alert]:
    """One rule per thing to do. The metric holds the last XID only, hence firing goes on for an hour."""
    actions: dict[tuple[str, str], list[int]] = {}
    for xid in cluster.catalog.xids.values():
        if xid.isolation == "isolate" or xid.xid in EXTRA_XIDS:
            isolates = xid.isolation == "isolate" and xid.confidence != "low"
            actions.setdefault((xid.action, "critical" if isolates else "warning"), []).append(xid.xid)
    for (action, severity), codes in actions.items():
        series = "max by (hostname, gpu, UUID) (DCGM_FI_DEV_XID_ERRORS)"
        expression = " or ".join(f"{series} == {code}" for code in sorted(codes))
        summary = f"XID {{{{ $value }}}} on GPU {{{{ $labels.gpu }}}} of {{{{ $labels.hostname }}}}: {action}"
        yield Alert("GpucXid", expression, summary, severity=severity, keep_minutes=60)


def _advertised(pool: Pool) -> Iterator[Alert]:
    """Nodes that live long enough and do not offer what quotas, overlays and limits count with."""
    for instance in pool.instances:
        selector = f'label_gpuc_dev_pool="{pool.name}"'
        if len(pool.instances) > 1:
            selector += f',label_node_kubernetes_io_instance_type="{instance.type}"'
        for resource, count in pool.advertised(instance).items():
            has = f'kube_node_status_allocatable{{resource="{metric_resource(resource)}"}} == {count}'
            expression = f"kube_node_labels{{{selector}}} unless on (node) ({has})"
            amount = quantity_text(resource, count)
            summary = f"node {{{{ $labels.node }}}} of {pool.name} does not offer {amount} of {resource}"
            labels = (("resource", resource),)
            yield Alert("GpucNotAsAdvertised", expression, summary, pool.boot_minutes, "critical", labels=labels)


def metric_resource(resource: str) -> str:
    """A resource as kube-state-metrics spells it in labels."""
    return "".join(character if character.isalnum() else "_" for character in resource)


def _idle(cluster: Cluster) -> Iterator[Alert]:
    """By the engines' activity: utilisation says nothing of MIG slices."""
    pieces = "max by (hostname, gpu, GPU_I_ID, namespace, pod)"
    active = f'{pieces} (avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE{{pod!=""}}[10m]))'
    for purpose, minutes in IDLE_MINUTES.items():
        pools = "|".join(pool.name for pool in cluster.gpu_pools if pool.spec.purpose == purpose)
        if pools:
            nodes = (
                f'label_replace(kube_node_labels{{label_gpuc_dev_pool=~"{pools}"}}, "hostname", "$1", "node", "(.+)")'
            )
            summary = "{{ $labels.namespace }}/{{ $labels.pod }} holds a GPU that does nothing"
            yield Alert("GpucIdleGpu", f"({active} < {IDLE_SHARE}) and on (hostname) {nodes}", summary, minutes)


def capacity_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Nodes that do not come, that are taken away too often, or whose time ends."""
    slowest = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)])
    waiting = (
        "max by (name) (operator_nodeclaim_status_condition_current_status_seconds"
        f'{{type="Initialized",status!="True"}}) > {slowest * 60}'
    )
    summary = f"NodeClaim {{{{ $labels.name }}}} is of no use after {slowest} minutes"
    yield Alert("GpucNodeNotInitialized", waiting, summary, severity="critical")
    names = "|".join(pool.name for pool in cluster.pools)
    nodes = f'count(karpenter_nodes_allocatable{{nodepool=~"{names}"}}) > 0'
    blind = f'{nodes} unless on () count(kube_node_labels{{label_gpuc_dev_pool!=""}})'
    summary = "kube-state-metrics does not show the label gpuc.dev/pool: alerts by pool are blind"
    yield Alert("GpucPoolLabelMissing", blind, summary, minutes=30)
    for pool in cluster.pools:
        yield from _spot(pool)
        yield from _block(pool)


def _spot(pool: Pool) -> Iterator[Alert]:
    """Interruptions that come so often that the work between two saved states is mostly lost."""
    runs = pool.spec.runs
    if "spot" not in pool.spec.purchase or runs is None:
        return
    series = f'karpenter_nodeclaims_disrupted_total{{nodepool="{pool.name}",reason="spot_interrupted"}}'
    hourly = f"sum by (nodepool) (increase({series}[1h]))"
    if runs.checkpoint_every is None:
        summary = f"spot interruptions in {pool.name}, whose runs save nothing"
        yield Alert("GpucSpotInterrupted", f"{hourly} > 0", summary)
    else:
        most = max(1, 3600 // runs.checkpoint_every // 2)
        summary = (
            f"more than {most} spot interruptions an hour in {pool.name}: runs lose what they do between checkpoints"
        )
        yield Alert("GpucSpotInterrupted", f"{hourly} > {most}", summary)


def _block(pool: Pool) -> Iterator[Alert]:
    reservations = pool.spec.reservations
    if reservations and reservations.block:
        ends = int(datetime.fromisoformat(reservations.block.ends).timestamp())
        expression = f"vector({ends}) - vector(time()) < {BLOCK_END_SECONDS}"
        summary = f"the capacity block of {pool.name} ends at {reservations.block.ends}"
        yield Alert("GpucCapacityBlockEnds", expression, summary, severity="critical")


def queue_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Queues that admit nothing, or admit work that never starts."""
    names = "|".join(part.name for queue in cluster.queues for part in queue.cluster_queues)
    queues = f'cluster_queue=~"{names}"'
    minutes = pods_ready_minutes(queued_pools(cluster))
    inactive = f'max by (cluster_queue) (kueue_cluster_queue_status{{{queues},status="active"}}) == 0'
    summary = "ClusterQueue {{ $labels.cluster_queue }} is not active and admits nothing"
    yield Alert("GpucQueueInactive", inactive, summary, minutes=10, severity="critical")
    pending = f"sum by (cluster_queue) (kueue_pending_workloads{{{queues}}}) > 0"
    admitted = f"sum by (cluster_queue) (increase(kueue_admitted_workloads_total{{{queues}}}[{minutes}m])) > 0"
    summary = f"work waits in {{{{ $labels.cluster_queue }}}}, and none was admitted for {minutes} minutes"
    yield Alert("GpucQueueStuck", f"({pending}) unless on (cluster_queue) ({admitted})", summary, minutes)
    evicted = f'kueue_evicted_workloads_total{{{queues},reason="PodsReadyTimeout"}}'
    late = f"sum by (cluster_queue) (increase({evicted}[1h])) > 0"
    summary = f"admitted work of {{{{ $labels.cluster_queue }}}} did not start within {minutes} minutes"
    yield Alert("GpucPodsNotReady", late, summary)


def policy_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Policies that are not in force although they stand in the cluster."""
    broken = (
        'max(gatekeeper_constraint_templates{status="error"}) > 0 or max(gatekeeper_constraints{status="error"}) > 0'
    )
    yield Alert("GpucPolicyBroken", broken, "Gatekeeper cannot use a template or a constraint", minutes=15)
