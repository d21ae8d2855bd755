"""Alerts for broken, lost and idle GPUs, and for GPUs without metrics.

The DCGM exporter writes the labels hostname (the name of the node), gpu, UUID, and GPU_I_ID for a MIG slice. With the
labels namespace, pod and container it names the pod that uses the GPU. If no pod uses the GPU, the exporter omits these
three labels, and Prometheus adds those of the exporter.

Source: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go,
internal/pkg/collector/expcollector.go; NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter/0800_daemonset.yaml
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.alerts.alert import Alert, any_of
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL

IDLE_FRACTION = 0.05
"""A GPU is idle if its engines are active for less than this fraction of the time."""
IDLE_MINUTES = {"training": 30, "inference": 360, "interactive": 120}
"""How long the GPU of a pod must be idle before the alert fires, by purpose of the pool."""
POOL = f"label_{POOL_LABEL.replace('.', '_').replace('/', '_')}"
"""The node label gpuc.dev/pool in the metric kube_node_labels."""
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
    if not cluster.gpu_pools:
        return
    yield from _xids(cluster)
    yield Alert(
        "GpucGpuLost",
        "max by (hostname, gpu, UUID) (last_over_time(DCGM_FI_DEV_GPU_TEMP[1h])) "
        "unless on (hostname, gpu, UUID) DCGM_FI_DEV_GPU_TEMP and on (hostname) DCGM_FI_DEV_GPU_TEMP",
        f"{_GPU} sends no metrics any more, but other GPUs of the node do: it is lost to its pods.",
        "Drain the node, then replace it.",
        f"The alert ends after an hour. {_REPLACE}",
        minutes=5,
        severity="critical",
    )
    yield Alert(
        "GpucRowRemapFailure",
        "max by (hostname, gpu, UUID) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0",
        f"{_GPU} can no longer repair its memory: the next memory error ends its pods.",
        "Drain the node, then replace it.",
        _REPLACE,
        severity="critical",
    )
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
        yield Alert(
            "GpucXid",
            f"max by (hostname, gpu, UUID, xid) (max_over_time({counts}[10m])) > 0",
            f"{_GPU} reported XID {{{{ $labels.xid }}}}, and its pods may have lost their work.",
            XID_REMEDIES[action],
            f"The kernel log of the node has the details of the XID. {_REPLACE}",
            severity=severity,
            keep_minutes=60,
            labels=(("action", action),),
        )


def _telemetry(cluster: Cluster) -> Alert:
    """Returns an alert for GPU nodes of which Prometheus gets no metrics, so the other alerts cannot fire.

    The metric `up` is not enough: an exporter without its DCGM answers, but has no GPU metrics.
    """
    return Alert(
        "GpucTelemetryMissing",
        f"{gpu_nodes(cluster)} unless on (hostname) DCGM_FI_DEV_GPU_TEMP",
        "Node {{ $labels.hostname }} of pool {{ $labels.pool }} sends no GPU metrics: broken GPUs cause no alert.",
        "Restart the pod nvidia-dcgm-exporter of the node.",
        f"Run kubectl get pods -n {cluster.components['gpu-operator'].namespace} -l app=nvidia-dcgm-exporter -o wide, "
        "and read the log of the pod. If no node sends metrics, check the ServiceMonitor "
        f"gpuc-{cluster.name}-gpu-operator.",
        minutes=max(pool.boot_minutes for pool in cluster.gpu_pools) + 5,
        severity="critical",
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
            yield Alert(
                "GpucIdleGpu",
                f"{active} < {IDLE_FRACTION} and on (hostname) {gpu_nodes(cluster, purpose)}",
                f"Pod {{{{ $labels.pod }}}} in namespace {{{{ $labels.namespace }}}} has not used its GPU for "
                f"{minutes} minutes.",
                "Ask the tenant whether the pod hangs, and delete its Job if so.",
                f"The GPU is {_GPU.removeprefix('GPU ')}. Without a Job, delete the pod or scale the Deployment down.",
                minutes,
                labels=(("purpose", purpose),),
            )
