"""The pages /metrics of an example cluster.

The pages of Kueue and Karpenter are recorded ones of real programs, with the names of the cluster in place of those of
the recording. The others, and the series in NOT_RECORDED, are generated from tables of metrics: no program wrote them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuc.components.gpu_operator.records import metric_resource, parts_of_gpu
from gpuc.model import Cluster, GpuPool
from tests.alerts.series import text

RECORDED = {"kueue": "kueue-0.19.2-leader", "kueue-1": "kueue-0.19.2-follower", "karpenter": "karpenter-1.14.1"}
"""The recordings in the reference data, by the target that replays them."""
NOT_RECORDED = {
    "kueue": 'kueue_evicted_workloads_total{cluster_queue="research",reason="Preempted",replica_role="leader"} 1\n',
    "karpenter": 'karpenter_nodepools_limit{nodepool="train",resource_type="nodes"} 16\n',
}
"""Series that the programs write only after an event, or for another spec."""
VALUES = {"DCGM_FI_PROF": 0.5, "DCGM_FI_DEV_GPU_TEMP": 60, "DCGM_FI_DEV_MEMORY_TEMP": 70}
"""Values of the exporter by the start of the name; 1 for others."""
EXTRA = {"XID": ("xid", "79"), "CLOCK_EVENTS": ("clock_event", "hw_thermal")}
"""Labels of the metrics whose name has a word."""


@dataclass(frozen=True)
class Holder:
    """A pod that holds all units of a resource on a node."""

    namespace: str
    pool: GpuPool
    resource: str
    profile: str

    @property
    def node(self) -> str:
        return f"node-{self.pool.name}"

    @property
    def pod(self) -> dict[str, str]:
        name = f"run-{self.pool.name}-{self.profile.replace('.', '-') or 'gpu'}"
        return {"namespace": self.namespace, "pod": name, "container": "main"}


def holders(cluster: Cluster) -> list[Holder]:
    """Pods, so that each namespace of a tenant has one, and each resource of a GPU pool too."""
    units = [(pool, resource, profile) for pool in cluster.gpu_pools for resource, profile, _ in parts_of_gpu(pool)]
    names = [namespace.name for _, namespace in cluster.namespaces]
    return [
        Holder(names[number % len(names)], *units[number % len(units)]) for number in range(max(len(names), len(units)))
    ]


def pages(cluster: Cluster, shared: Path) -> dict[str, str]:
    """The pages of a cluster by target. The DCGM exporter and kube-state-metrics write labels of pods."""
    found = {"dcgm": "".join(_dcgm(cluster)), "state": "".join(_state(cluster)), "argocd": _argocd(cluster)}
    if cluster.queues:
        found |= {name: _recorded(cluster, shared, name) for name in ("kueue", "kueue-1")}
    if "karpenter" in cluster.components:
        found["karpenter"] = _recorded(cluster, shared, "karpenter")
    return found


def _recorded(cluster: Cluster, shared: Path, name: str) -> str:
    page = shared / f"facts/observability/expositions/{RECORDED[name]}.metrics.txt"
    part = next(part for queue in cluster.queues for part in queue.cluster_queues if part.pools[0].is_gpu)
    pool = next(pool for pool in cluster.gpu_pools if pool.name == part.pools[0].name)
    names = {
        'cluster_queue="research"': f'cluster_queue="{part.name}"',
        'flavor="train-h100"': f'flavor="{pool.name}"',
        'namespace="default"': f'namespace="{next(iter(cluster.namespaces))[1].name}"',
        'resource="nvidia.com/gpu"': f'resource="{next(parts_of_gpu(pool))[0]}"',
        'nodepool="train"': f'nodepool="{pool.name}"',
    }
    known = re.compile("|".join(map(re.escape, names)))
    return known.sub(lambda found: names[found[0]], page.read_text("utf-8") + NOT_RECORDED.get(name, ""))


def _dcgm(cluster: Cluster) -> Iterator[str]:
    """The metrics of gpuc's list for the exporter. tests/alerts/series.py has the source of the labels."""
    rows = cluster.catalog.dcgm_metrics.values()
    metrics = [row.name for row in rows if row.type != "label" and (row.default or row.is_added)]
    for holder in holders(cluster):
        slices = {"GPU_I_ID": "1", "GPU_I_PROFILE": holder.profile} if holder.profile else {}
        gpu = {
            "gpu": "0",
            "UUID": f"GPU-{holder.node}",
            "hostname": holder.node,
            "DCGM_FI_DRIVER_VERSION": "580.126.20",
        }
        for metric in metrics:
            value = next((number for start, number in VALUES.items() if metric.startswith(start)), 1)
            extra = dict(label for word, label in EXTRA.items() if metric.startswith("DCGM_EXP") and word in metric)
            yield f"{text(metric, {**gpu, **slices, **holder.pod, **extra})} {value}\n"


def _state(cluster: Cluster) -> Iterator[str]:
    """Source: kubernetes/kube-state-metrics v2.20 docs/metrics: cluster/node-metrics.md, workload/pod-metrics.md"""
    found = holders(cluster)
    for holder in {holder.node: holder for holder in found}.values():
        node = {"node": holder.node}
        yield f"{text('kube_node_labels', {**node, 'label_gpuc_dev_pool': holder.pool.name})} 1\n"
        for status in ("true", "false", "unknown"):
            condition = {**node, "condition": "Ready", "status": status}
            yield f"{text('kube_node_status_condition', condition)} {int(status == 'true')}\n"
    resources = {(holder.node, metric_resource(holder.resource)) for holder in found}
    for name, resource in sorted(resources):
        allocatable = {"node": name, "resource": resource, "unit": "integer"}
        yield f"{text('kube_node_status_allocatable', allocatable)} 8\n"
    for holder in found:
        request = {**holder.pod, "node": holder.node, "resource": metric_resource(holder.resource), "unit": "integer"}
        yield f"{text('kube_pod_container_resource_requests', request)} 1\n"
        yield f"{text('kube_pod_container_status_restarts_total', holder.pod)} 0\n"
        for gauge in ("train_tokens_per_second", "train_model_flops_per_token"):  # of the program, not of the exporter
            yield f"{text(gauge, holder.pod)} 1000\n"
        for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
            pod = {key: value for key, value in holder.pod.items() if key != "container"}
            yield f"{text('kube_pod_status_phase', {**pod, 'phase': phase})} {int(phase == 'Running')}\n"


def _argocd(cluster: Cluster) -> str:
    """Source: argoproj/argo-cd v3.5.7 controller/metrics/metrics.go (descAppInfo)"""
    labels = {"name": f"{cluster.name}-kueue", "project": cluster.name, "sync_status": "OutOfSync"}
    return f"{text('argocd_app_info', {**labels, 'health_status': 'Healthy'})} 1\n"
