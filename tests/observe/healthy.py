"""The series of a healthy cluster, in which no alert fires, in the notation of promtool.

Each GPU pool has a node with two GPUs that pods of tenants use. The sources are those of tests/alerts/series.py.
"""

from collections.abc import Iterator

from gpuc.components.gpu_operator.records import metric_resource, parts_of_gpu
from gpuc.model import Cluster, GpuPool
from gpuc.substrates.eks.scaling import eks
from tests.alerts.queue_cases import QueueMetrics
from tests.alerts.series import KARPENTER, KUEUE, KUEUE_FOLLOWER, Gpu, Holder, allocatable, pool_node, series, text

LONG = 250
"""The number of samples, one each minute."""
VALUES = {
    "DCGM_FI_PROF": "0.5",
    "DCGM_FI_DEV_GPU_TEMP": "60",
    "DCGM_FI_DEV_MEMORY_TEMP": "70",
    "DCGM_FI_DEV_FABRIC_MANAGER_STATUS": "3",
}
"""Values of the exporter by the start of the name; 0 for others."""


def healthy(cluster: Cluster, label: str) -> dict[str, str]:
    """Returns the series of a cluster; with the label that the agent of the cluster adds, if there is one."""
    parts = (_gpus(cluster), _nodes(cluster), _karpenter(cluster), _queues(cluster), _policies())
    values = {name: f"{value}x{LONG}" for part in parts for name, value in part}
    return {f'{name[:-1]},{label}="{cluster.name}"}}' if label else name: value for name, value in values.items()}


def holders(cluster: Cluster, pool: GpuPool) -> list[Holder]:
    """The pods of the first GPU of a pool: one, or one of each of two namespaces on a shared GPU."""
    names = [namespace.name for _, namespace in cluster.namespaces]
    first = [other.name for other in cluster.gpu_pools].index(pool.name)
    shares = ("0", "1") if pool.sharing.mode == "shared" else ("",)
    return [
        Holder(names[(first + number) % len(names)], f"{pool.name}-{number}", vgpu=share)
        for number, share in enumerate(shares)
    ]


def _gpus(cluster: Cluster) -> Iterator[tuple[str, str]]:
    rows = cluster.catalog.dcgm_metrics.values()
    metrics = [row.name for row in rows if row.type != "label" and (row.default or row.is_added)]
    for pool in cluster.gpu_pools:
        *_, (_, profile, _) = parts_of_gpu(pool)
        piece = {"GPU_I_ID": "1", "GPU_I_PROFILE": profile} if profile else {}
        for number, found in ((0, holders(cluster, pool)), (1, [None])):
            for metric in metrics:
                value = next((text for start, text in VALUES.items() if metric.startswith(start)), "0")
                for holder in found:
                    yield Gpu(f"n-{pool.name}", number).series(metric, holder, **piece), value


def _nodes(cluster: Cluster) -> Iterator[tuple[str, str]]:
    for pool in cluster.pools:
        yield pool_node(f"n-{pool.name}", pool.name, pool.instances[0].type), "1"
    for pool in cluster.gpu_pools:
        for resource, count in pool.advertised(pool.instances[0]).items():
            yield allocatable(f"n-{pool.name}", metric_resource(resource)), str(count)


def _karpenter(cluster: Cluster) -> Iterator[tuple[str, str]]:
    yield series("karpenter karpenter_build_info version=1"), "1"
    for pool in cluster.pools:
        reservations = eks(pool).spec.reservations
        count = reservations.instances or 1 if reservations else 1
        capacity = "reserved" if reservations else "on-demand"
        for number in range(count):
            labels = {"nodepool": pool.name, "node_name": f"n{number}-{pool.name}", "capacity_type": capacity}
            yield KARPENTER.series("karpenter_nodes_allocatable", resource_type="cpu", **labels), "1"
        for metric, value in (("usage", "1"), ("limit", "16")):
            labels = {"nodepool": pool.name, "resource_type": "nodes"}
            yield KARPENTER.series(f"karpenter_nodepools_{metric}", **labels), value
        for kind in ("nodepool", "ec2nodeclass"):
            metric = f"operator_{kind}_status_condition_current_status_seconds"
            yield KARPENTER.series(metric, name=pool.name, type="Ready", status="True", reason="Ready"), "9000"
        for kind in ("Ready", "AcceleratedHardwareReady") if pool.is_gpu else ():
            labels = {"name": f"n-{pool.name}", "karpenter_sh_nodepool": pool.name, "type": kind, "reason": kind}
            yield KARPENTER.series("operator_node_status_condition_count", status="True", **labels), "1"


def _queues(cluster: Cluster) -> Iterator[tuple[str, str]]:
    yield series("kueue-any kueue_build_info git_version=v1"), "1"
    for queue in [part for whole in cluster.queues for part in whole.cluster_queues]:
        for name, value in QueueMetrics(queue).series({}, 0, 0).items():
            yield name, value.partition("x")[0]
        for controller in (KUEUE, KUEUE_FOLLOWER):
            labels = {"cluster_queue": queue.name, "status": "active"}
            yield controller.series("kueue_cluster_queue_status", **labels), "1"


def _policies() -> Iterator[tuple[str, str]]:
    yield series("audit gatekeeper_audit_last_run_end_time"), "0+60"
    yield series("webhook gatekeeper_constraints status=active"), "20"
    yield text("gatekeeper_constraint_templates", {"status": "active"}), "20"
