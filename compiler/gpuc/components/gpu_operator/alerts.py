"""Alerts for broken, lost and idle GPUs, for GPUs without metrics, and for nodes that lack the GPUs of their pool.

The DCGM exporter writes the labels hostname (the name of the node), gpu, UUID, and GPU_I_ID for a MIG slice. With the
labels namespace, pod and container it names the pod that uses the GPU. If no pod uses the GPU, the exporter omits these
three labels, and Prometheus adds those of the exporter.

Source: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go,
internal/pkg/collector/expcollector.go; NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter/0800_daemonset.yaml
"""

from collections.abc import Iterator

from gpuc.components.gpu_operator.records import level, metric_resource
from gpuc.emit.alerts.alert import INSTANCE_TYPE_LABEL, POOL, Alert, alert, any_of
from gpuc.kubernetes.amounts import quantity_text
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT

IDLE_FRACTION = 0.05
"""A GPU is idle if its engines are active for less than this fraction of the time."""
IDLE_MINUTES = {"training": 30, "inference": 360, "interactive": 120}
"""How long the GPU of a pod must be idle before the alert fires, by purpose of the pool."""
XID_REMEDIES = {
    "reset-gpu": "Drain the node, then reset the GPU or replace the node.",
    "replace-node": "Drain the node, then replace it.",
    "restart-pod": "Restart the pod if it still runs.",
}
"""The remedy in the summary, by the action of the catalog."""
_GPU = "GPU {{ $labels.gpu }} of node {{ $labels.hostname }}"
_REPLACE = "Follow the section Replace a broken node in the README of the cluster."


def gpu_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for broken, lost and idle GPUs, and for GPUs without metrics."""
    yield from _xids(cluster)
    yield alert("GpucGpuLost", gpu=_GPU, replace=_REPLACE)
    yield alert("GpucRowRemapFailure", gpu=_GPU, replace=_REPLACE)
    yield _telemetry(cluster)
    yield from _idle(cluster)


def _xids(cluster: Cluster) -> Iterator[Alert]:
    """Yields one rule for each recommended action and severity.

    DCGM_FI_DEV_XID_ERRORS has only the last XID, which is often the harmless XID 45 after the cause. The metric of the
    rules counts the XIDs of the last 5 minutes, with a series for each XID. NVIDIA reports an XID only on the
    architectures that have it, so the rules do not compare the architecture.
    """
    codes_by_rule: dict[tuple[str, str], list[int]] = {}
    for xid in sorted(cluster.catalog.xids.values(), key=lambda row: row.xid):
        if xid.action != "none":
            isolates = xid.isolation == "isolate" and xid.confidence != "low"
            codes_by_rule.setdefault((xid.action, "critical" if isolates else "warning"), []).append(xid.xid)
    for (action, severity), codes in codes_by_rule.items():
        counts = f'DCGM_EXP_XID_ERRORS_COUNT{{xid=~"{any_of(codes)}"}}'
        label, remedy = ("action", action), XID_REMEDIES[action]
        yield alert("GpucXid", label, severity=severity, counts=counts, gpu=_GPU, remedy=remedy, replace=_REPLACE)


def _telemetry(cluster: Cluster) -> Alert:
    """Returns an alert for GPU nodes of which Prometheus gets no metrics, so the other alerts cannot fire.

    The metric `up` is not enough: an exporter without its DCGM answers, but has no GPU metrics.
    """
    return alert(
        "GpucTelemetryMissing",
        minutes=max(pool.boot_minutes for pool in cluster.gpu_pools) + 5,
        nodes=gpu_nodes(cluster),
        namespace=cluster.components["gpu-operator"].namespace,
        cluster=cluster.name,
    )


def gpu_nodes(cluster: Cluster, purpose: str = "") -> str:
    """Returns PromQL for the GPU nodes, with the labels hostname and pool; only of pools with the purpose, if given."""
    names = any_of(pool.name for pool in cluster.gpu_pools if purpose in ("", pool.spec.purpose))
    nodes = f'max by (node, {POOL}) (kube_node_labels{{{POOL}=~"{names}"}})'
    renamed = f'label_replace(label_replace({nodes}, "hostname", "$1", "node", "(.+)"), "pool", "$1", "{POOL}", "(.+)")'
    return f"max by (hostname, pool) ({renamed})"


def _idle(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for idle GPUs, by the activity of the engines. MIG slices have no metric for GPU utilization.

    The pods of a shared GPU have the same activity, so the alert names all pods of the GPU.
    """
    exporter = cluster.components["gpu-operator"].namespace
    used = f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{pod!="",namespace!="{exporter}"}}'
    active = f"max by (hostname, gpu, GPU_I_ID, namespace, pod) (avg_over_time({used}[10m]))"
    for purpose, minutes in IDLE_MINUTES.items():
        if any(pool.spec.purpose == purpose for pool in cluster.gpu_pools):
            yield alert(
                "GpucIdleGpu",
                ("purpose", purpose),
                minutes=minutes,
                active=active,
                fraction=IDLE_FRACTION,
                nodes=gpu_nodes(cluster, purpose),
                idle_minutes=minutes,
                gpu=_GPU.removeprefix("GPU "),
            )


def node_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for GPU nodes that lack the resources of their pool, or take no work."""
    for pool in cluster.gpu_pools:
        yield from _advertised(pool)
        if pool.has_gate:
            yield _keeps_taint(pool)
    if any(pool.mig_by_operator for pool in cluster.gpu_pools):
        yield alert("GpucMigLayoutNotReached", namespace=cluster.components["gpu-operator"].namespace)


def alert_labels(cluster: Cluster) -> tuple[str, ...]:
    """Returns the node labels that the alerts join on, without the label of the pool."""
    has_types = any(len(pool.instances) > 1 for pool in cluster.gpu_pools)
    has_layouts = any(pool.mig_by_operator for pool in cluster.gpu_pools)
    return (*([INSTANCE_TYPE] if has_types else []), *(["nvidia.com/mig.config.state"] if has_layouts else []))


def _advertised(pool: Pool) -> Iterator[Alert]:
    """Yields alerts for nodes that do not advertise the resources of their pool after the boot time.

    Quotas, NodeOverlays and limits depend on these resources.
    """
    for instance in pool.instances:
        selector = f'{POOL}="{pool.name}"'
        labels: tuple[tuple[str, str], ...] = (("pool", pool.name),)
        if len(pool.instances) > 1:
            selector += f',{INSTANCE_TYPE_LABEL}="{instance.type}"'
            labels = (*labels, ("instance_type", instance.type))
        for resource, count in pool.advertised(instance).items():
            advertises = f'kube_node_status_allocatable{{resource="{metric_resource(resource)}"}} == {count}'
            yield alert(
                "GpucNotAsAdvertised",
                *labels,
                ("resource", resource),
                minutes=pool.boot_minutes,
                selector=selector,
                advertises=advertises,
                pool=pool.name,
                count=quantity_text(resource, count),
                resource=resource,
            )


def _keeps_taint(pool: Pool) -> Alert:
    """Returns an alert for nodes that take no work, because they cannot become what their pool promises.

    Source: kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md
    """
    tainted = f'max by (node) (kube_node_spec_taint{{key="{GPUS_TAINT}"}})'
    return alert(
        "GpucNodeTakesNoWork",
        ("pool", pool.name),
        minutes=pool.boot_minutes,
        tainted=tainted,
        selector=f'{POOL}="{pool.name}"',
        pool=pool.name,
        taint=GPUS_TAINT,
        condition=GPUS_CONDITION,
    )
