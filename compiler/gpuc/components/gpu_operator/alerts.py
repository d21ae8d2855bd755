"""Alerts for broken, lost and idle GPUs, for GPUs without metrics, and for nodes that lack the GPUs of their pool.

The metric DCGM_FI_DEV_XID_ERRORS has only the last XID (an error code of the driver), often the harmless XID 45 after
the cause. So the alert GpucXid uses the counts of all XIDs in the last 5 minutes. NVIDIA reports an XID only on the
architectures that have it, so the rules do not compare the architecture.

The DCGM exporter writes the labels hostname (the name of the node), gpu, UUID, and GPU_I_ID for a MIG slice. The labels
namespace, pod and container name the pod that uses the GPU. If no pod uses the GPU, the exporter omits these three
labels, and Prometheus adds the namespace, pod and container of the exporter.

Source: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go,
internal/pkg/collector/expcollector.go; NVIDIA/DCGM v4.6.0 dcgmlib/dcgm_structs.h (dcgmFabricManagerStatus_t);
NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter/0800_daemonset.yaml
"""

from collections.abc import Iterator
from typing import Any

from gpuc.components.gpu_operator.records import level, metric_resource
from gpuc.emit.alerts.alert import INSTANCE_TYPE_LABEL, POOL, Alert, alert
from gpuc.kubernetes.amounts import quantity_text
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model import Cluster, Pool
from gpuc.model.names import EXCLUDED, GPUS_CONDITION, GPUS_TAINT

IDLE_FRACTION = 0.05
"""A GPU is idle if its engines are active for less than this fraction of the time."""
IDLE_MINUTES = {"training": 30, "inference": 360, "interactive": 120}
"""How long the GPU of a pod must be idle before the alert fires, by purpose of the pool."""
_GPU = "GPU {{ $labels.gpu }} of node {{ $labels.hostname }}"
_TENANT = (
    "* on (hostname) group_left (pool) gpuc:node:info * on (namespace) group_left (tenant) (gpuc:namespace:info "
    "or on (namespace) group by (namespace) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)) "
    'and on (pool) gpuc:pool:info{purpose="%s"}'
)
"""PromQL that adds the pool and the tenant to series of pods, in pools of a purpose. A namespace may have no tenant."""
_REPLACE = "Follow the section Replace a broken node in the README of the cluster."


HARDWARE = (
    *("GpucGpuLost", "GpucRecoveryAction", "GpucRowRemapFailure", "GpucRowRemapPending", "GpucUncorrectedEcc"),
    *("GpucCorrectedEccBurst", "GpucThermalSlowdown", "GpucHot", "GpucPcieReplay"),
)
"""The alerts for one GPU that every cluster with GPUs has."""
TRAINING = ("GpucLowTensor", "GpucHangSuspected", "GpucStraggler")
"""The alerts for training runs that waste their GPUs."""
NVLINK_COUNTERS = ("ampere", "hopper")
"""The architectures whose NVSwitch machines have the error counters of the alert. Blackwell has bit error rates."""


def gpu_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for broken, lost and idle GPUs, and for GPUs without metrics."""
    exporter = cluster.components["gpu-operator"].namespace
    held = f'pod!="",namespace!="{exporter}"'
    texts: dict[str, Any] = {"gpu": _GPU, "replace": _REPLACE}
    for severity in sorted({level(xid) for xid in cluster.catalog.xids.values() if xid.action != "none"}):
        yield alert("GpucXid", severity=severity, level=severity, **texts)
    yield alert("GpucXidRepeats", held=held, **texts)
    for name in HARDWARE:
        yield alert(name, **texts)
    switched = [pool for pool in cluster.gpu_pools if pool.has_nvswitch]
    if any(pool.gpu.architecture in NVLINK_COUNTERS for pool in switched):
        yield alert("GpucNvlinkErrors", **texts)
    if switched:
        yield alert("GpucFabricManager", **texts)
    yield _telemetry(cluster, exporter)
    yield alert("GpucProfilingMissing", namespace=exporter)
    yield alert("GpucMixedDrivers")
    yield from _idle(cluster, held)
    if any(pool.spec.purpose == "training" for pool in cluster.gpu_pools):
        yield from (alert(name, held=held, tenant=_TENANT % "training", gpu=_GPU) for name in TRAINING)


def _telemetry(cluster: Cluster, exporter: str) -> Alert:
    """Returns an alert for GPU nodes of which Prometheus gets no metrics, so the other alerts cannot fire.

    The metric `up` is not enough: an exporter without its DCGM answers, but has no GPU metrics.
    """
    return alert(
        "GpucTelemetryMissing",
        minutes=max(pool.boot_minutes for pool in cluster.gpu_pools) + 5,
        namespace=exporter,
        cluster=cluster.name,
    )


def _idle(cluster: Cluster, held: str) -> Iterator[Alert]:
    """Yields alerts for idle GPUs, by the activity of the engines. MIG slices have no metric for GPU utilization.

    The pods of a shared GPU have the same activity, so the alert names all pods of the GPU.
    """
    for purpose, minutes in IDLE_MINUTES.items():
        if any(pool.spec.purpose == purpose for pool in cluster.gpu_pools):
            yield alert(
                "GpucIdleGpu",
                ("purpose", purpose),
                minutes=minutes,
                held=held,
                tenant=_TENANT % purpose,
                fraction=IDLE_FRACTION,
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
    """Returns the labels of Node objects that the alerts use, in addition to the label with the pool."""
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
            if pool.existing is not None:
                advertises += f' or kube_node_spec_taint{{key="{EXCLUDED}"}}'
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
