"""Alerting rules for GPUs, nodes, queues and policies, as PromQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gpuc.emit.start_limits import pods_ready_minutes
from gpuc.kubernetes.amounts import quantity_text
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT

IDLE_FRACTION = 0.05
"""A GPU is idle if its engines are active for less than this fraction of the time."""
IDLE_MINUTES = {"training": 30, "inference": 360, "interactive": 120}
"""How long the GPU of a pod must be idle before the alert fires, by purpose of the pool."""
NODE_MINUTES = 20
"""Minimum time limit for the initialization of a NodeClaim. A pool with a longer boot time raises the limit."""
BLOCK_END_SECONDS = 24 * 3600
EXTRA_XIDS = (48, 63, 64, 74, 79, 94, 95)
"""XIDs with an alert although the catalog does not require the isolation of the node."""


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule."""

    name: str
    expression: str
    summary: str
    """The problem, for the annotation summary."""
    action: str
    """The first command or action to fix the problem, for the annotation description."""
    minutes: int = 0
    """How long the expression must be true before the alert fires."""
    severity: str = "warning"
    keep_minutes: int = 0
    """How long the alert continues to fire after the expression is false."""
    labels: tuple[tuple[str, str], ...] = ()
    """Additional labels, which distinguish alerting rules with the same name."""


def gpu_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for broken GPUs, nodes without the resources of their pool, and idle GPUs."""
    if not cluster.gpu_pools:
        return
    yield from _xids(cluster)
    rows = "max by (hostname, gpu, UUID) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0"
    summary = "GPU {{ $labels.gpu }} of node {{ $labels.hostname }} can no longer repair its memory"
    action = "Cordon the node. When its pods have ended, delete its NodeClaim. Karpenter then starts a new node."
    yield Alert("GpucRowRemapFailure", rows, summary, action, severity="critical")
    for pool in cluster.gpu_pools:
        yield from _advertised(pool)
        yield _keeps_taint(pool)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        state = 'kube_node_labels{label_nvidia_com_mig_config_state=~"failed|pending"} == 1'
        summary = "The MIG manager cannot apply the MIG layout to node {{ $labels.node }}"
        action = "Read the log of the pod nvidia-mig-manager on this node in namespace gpu-operator."
        yield Alert("GpucMigLayoutNotReached", state, summary, action, minutes=15, severity="critical")
    yield from _idle(cluster)


def _xids(cluster: Cluster) -> Iterator[Alert]:
    """Yields one rule per recommended action. Alerts fire for one hour, because the metric shows only the last XID."""
    codes_by_action: dict[tuple[str, str], list[int]] = {}
    for xid in cluster.catalog.xids.values():
        if xid.isolation == "isolate" or xid.xid in EXTRA_XIDS:
            isolates = xid.isolation == "isolate" and xid.confidence != "low"
            codes_by_action.setdefault((xid.action, "critical" if isolates else "warning"), []).append(xid.xid)
    for (action, severity), codes in codes_by_action.items():
        series = "max by (hostname, gpu, UUID) (DCGM_FI_DEV_XID_ERRORS)"
        expression = " or ".join(f"{series} == {code}" for code in sorted(codes))
        summary = "GPU {{ $labels.gpu }} of node {{ $labels.hostname }} reports XID {{ $value }}"
        yield Alert(
            "GpucXid", expression, summary, f"Recommended action: {action}.", severity=severity, keep_minutes=60
        )


def _advertised(pool: Pool) -> Iterator[Alert]:
    """Yields alerts for nodes that do not advertise the resources of their pool after the boot time.

    Quotas, NodeOverlays and limits depend on these resources.
    """
    for instance in pool.instances:
        selector = f'label_gpuc_dev_pool="{pool.name}"'
        if len(pool.instances) > 1:
            selector += f',label_node_kubernetes_io_instance_type="{instance.type}"'
        for resource, count in pool.advertised(instance).items():
            advertises = f'kube_node_status_allocatable{{resource="{metric_resource(resource)}"}} == {count}'
            expression = f"kube_node_labels{{{selector}}} unless on (node) ({advertises})"
            amount = quantity_text(resource, count)
            summary = f"Node {{{{ $labels.node }}}} of pool {pool.name}: allocatable {resource} is not {amount}"
            action = (
                "Run kubectl describe node {{ $labels.node }}. Then read the logs of the device plugins on this node."
            )
            labels = (("resource", resource),)
            yield Alert(
                "GpucNotAsAdvertised", expression, summary, action, pool.boot_minutes, "critical", labels=labels
            )


def _keeps_taint(pool: Pool) -> Alert:
    """Returns an alert for nodes that take no work, because they cannot become what their pool promises.

    Source: kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md
    """
    tainted = f'max by (node) (kube_node_spec_taint{{key="{GPUS_TAINT}"}})'
    expression = f'{tainted} and on (node) kube_node_labels{{label_gpuc_dev_pool="{pool.name}"}}'
    summary = f"Node {{{{ $labels.node }}}} of pool {pool.name} takes no work: it keeps the taint {GPUS_TAINT}"
    action = (
        f"Run kubectl describe node {{{{ $labels.node }}}}. The condition {GPUS_CONDITION} shows the reason. To "
        "replace the node, delete its NodeClaim."
    )
    return Alert("GpucNodeTakesNoWork", expression, summary, action, pool.boot_minutes, "critical")


def metric_resource(resource: str) -> str:
    """Returns the name of a resource as a label value of kube-state-metrics."""
    return "".join(character if character.isalnum() else "_" for character in resource)


def _idle(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for idle GPUs, by the activity of the engines. MIG slices have no metric for GPU utilization."""
    per_device = "max by (hostname, gpu, GPU_I_ID, namespace, pod)"
    active = f'{per_device} (avg_over_time(DCGM_FI_PROF_GR_ENGINE_ACTIVE{{pod!=""}}[10m]))'
    for purpose, minutes in IDLE_MINUTES.items():
        pools = "|".join(pool.name for pool in cluster.gpu_pools if pool.spec.purpose == purpose)
        if pools:
            nodes = (
                f'label_replace(kube_node_labels{{label_gpuc_dev_pool=~"{pools}"}}, "hostname", "$1", "node", "(.+)")'
            )
            summary = "Pod {{ $labels.pod }} in namespace {{ $labels.namespace }} does not use its GPU"
            action = "Ask the tenant whether the pod hangs. If so, delete its Job, or the pod if it has no Job."
            expression = f"({active} < {IDLE_FRACTION}) and on (hostname) {nodes}"
            yield Alert("GpucIdleGpu", expression, summary, action, minutes)


def capacity_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for nodes that do not start, frequent spot interruptions, and capacity blocks that end."""
    slowest = max([NODE_MINUTES, *(pool.boot_minutes for pool in cluster.pools)])
    not_initialized = (
        "max by (name) (operator_nodeclaim_status_condition_current_status_seconds"
        f'{{type="Initialized",status!="True"}}) > {slowest * 60}'
    )
    summary = f"NodeClaim {{{{ $labels.name }}}} is not initialized after {slowest} minutes"
    action = "Run kubectl describe nodeclaim {{ $labels.name }}. The conditions and events show the reason."
    yield Alert("GpucNodeNotInitialized", not_initialized, summary, action, severity="critical")
    names = "|".join(pool.name for pool in cluster.pools)
    nodes = f'count(karpenter_nodes_allocatable{{nodepool=~"{names}"}}) > 0'
    unlabeled = f'{nodes} unless on () count(kube_node_labels{{label_gpuc_dev_pool!=""}})'
    summary = "kube-state-metrics does not export the node label gpuc.dev/pool, so alerts by pool cannot fire"
    action = "Set metricLabelsAllowlist of kube-state-metrics as in the README of the cluster, section Prometheus."
    yield Alert("GpucPoolLabelMissing", unlabeled, summary, action, minutes=30)
    for pool in cluster.pools:
        yield from _spot(pool)
        yield from _capacity_block(pool)


def _spot(pool: Pool) -> Iterator[Alert]:
    """Yields an alert for spot interruptions that are so frequent that runs lose most of their work."""
    runs = pool.spec.runs
    if "spot" not in pool.spec.purchase or runs is None:
        return
    series = f'karpenter_nodeclaims_disrupted_total{{nodepool="{pool.name}",reason="spot_interrupted"}}'
    hourly = f"sum by (nodepool) (increase({series}[1h]))"
    if runs.checkpoint_every is None:
        limit = 0
        summary = f"EC2 interrupted a spot instance of pool {pool.name}, whose runs have no checkpoints"
    else:
        limit = max(1, 3600 // runs.checkpoint_every // 2)
        summary = f"More than {limit} spot interruptions per hour in pool {pool.name}: runs lose most of their work"
    action = f"In the spec of pool {pool.name}, add instances or zones, or set purchase to [on-demand] for some time."
    yield Alert("GpucSpotInterrupted", f"{hourly} > {limit}", summary, action)


def _capacity_block(pool: Pool) -> Iterator[Alert]:
    reservations = pool.spec.reservations
    if reservations and reservations.block:
        ends = int(datetime.fromisoformat(reservations.block.ends).timestamp())
        expression = f"vector({ends}) - vector(time()) < {BLOCK_END_SECONDS}"
        summary = f"The capacity block of pool {pool.name} ends at {reservations.block.ends}"
        action = (
            "Save checkpoints of running workloads. EC2 starts to terminate the instances 30 minutes before the end."
        )
        yield Alert("GpucCapacityBlockEnds", expression, summary, action, severity="critical")


def queue_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for queues that admit no workloads, and for admitted workloads that do not start."""
    names = "|".join(part.name for queue in cluster.queues for part in queue.cluster_queues)
    queues = f'cluster_queue=~"{names}"'
    minutes = pods_ready_minutes(cluster)
    inactive = f'max by (cluster_queue) (kueue_cluster_queue_status{{{queues},status="active"}}) == 0'
    summary = "ClusterQueue {{ $labels.cluster_queue }} is not active and admits no workloads"
    action = "Run kubectl describe clusterqueue {{ $labels.cluster_queue }}. The condition Active shows the reason."
    yield Alert("GpucQueueInactive", inactive, summary, action, minutes=10, severity="critical")
    pending = f"sum by (cluster_queue) (kueue_pending_workloads{{{queues}}}) > 0"
    admitted = f"sum by (cluster_queue) (increase(kueue_admitted_workloads_total{{{queues}}}[{minutes}m])) > 0"
    summary = f"ClusterQueue {{{{ $labels.cluster_queue }}}} admitted no pending workloads for {minutes} minutes"
    action = "Run kubectl describe workload for the oldest pending Workload. The events show the missing quota."
    yield Alert("GpucQueueStuck", f"({pending}) unless on (cluster_queue) ({admitted})", summary, action, minutes)
    evicted = f'kueue_evicted_workloads_total{{{queues},reason="PodsReadyTimeout"}}'
    late = f"sum by (cluster_queue) (increase({evicted}[1h])) > 0"
    summary = (
        f"Admitted workloads of ClusterQueue {{{{ $labels.cluster_queue }}}} did not start within {minutes} minutes"
    )
    action = "Run kubectl get nodeclaims. If the nodes exist, run kubectl describe pod for the pods that are not ready."
    yield Alert("GpucPodsNotReady", late, summary, action)


def policy_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields an alert for policies that Gatekeeper does not enforce because of an error."""
    broken = (
        'max(gatekeeper_constraint_templates{status="error"}) > 0 or max(gatekeeper_constraints{status="error"}) > 0'
    )
    summary = "Gatekeeper reports an error in a ConstraintTemplate or a constraint, so its policy is not enforced"
    action = "Run kubectl get constrainttemplates,constraints -o yaml. The field status.byPod contains the error."
    yield Alert("GpucPolicyBroken", broken, summary, action, minutes=15)
