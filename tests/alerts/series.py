"""Time series with the labels that the pinned exporters and Prometheus write.

Sources: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go and
internal/pkg/collector; NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter; the pages /metrics of Karpenter 1.14.1
and of two replicas of Kueue 0.19.2; kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md;
open-policy-agent/gatekeeper v3.23.0 pkg/audit/stats_reporter.go, website/docs/metrics.md. The labels namespace, pod,
container, service, endpoint, job and instance are those of a target of the Prometheus operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EXPORTER_NAMESPACE = "gpu-operator"


@dataclass(frozen=True)
class Holder:
    """A container that uses a GPU. The exporter knows the container only by the name of its resource."""

    namespace: str
    pod: str
    container: str = "main"
    vgpu: str = ""


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a MIG slice of it."""

    node: str
    number: int = 0
    slice_id: str = ""
    profile: str = ""

    @property
    def uuid(self) -> str:
        return f"GPU-{self.node}-{self.number}"

    def labels(self) -> dict[str, str]:
        """Returns the labels by which alerts name the GPU."""
        return {"hostname": self.node, "gpu": str(self.number), "UUID": self.uuid}

    def series(self, metric: str, holder: Holder | None = None, **labels: str) -> str:
        """Returns a series of the DCGM exporter, as Prometheus stores it with `honorLabels: true`.

        A GPU that no pod uses gets the labels of the exporter's own pod from Prometheus.
        """
        exporter = Holder(EXPORTER_NAMESPACE, f"nvidia-dcgm-exporter-{self.node}", "nvidia-dcgm-exporter")
        user = holder or exporter
        return text(
            metric,
            {
                **self.labels(),
                "pci_bus_id": f"00000000:{self.number + 16:02X}:00.0",
                "device": f"nvidia{self.number}",
                "modelName": "NVIDIA H100 80GB HBM3",
                "DCGM_FI_DRIVER_VERSION": "580.126.20",
                "GPU_I_ID": self.slice_id,
                "GPU_I_PROFILE": self.profile,
                "namespace": user.namespace,
                "pod": user.pod,
                "container": user.container,
                "vgpu": user.vgpu,
                **labels,
                "service": "nvidia-dcgm-exporter",
                "endpoint": "gpu-metrics",
                "job": "nvidia-dcgm-exporter",
                "instance": f"{self.node}:9400",
            },
        )

    def xid(self, code: int, holder: Holder | None = None) -> str:
        """Returns the series that counts an XID in the last 5 minutes."""
        return self.series("DCGM_EXP_XID_ERRORS_COUNT", holder, xid=str(code), window_size_in_ms="300000")

    def last_xid(self, code: int, holder: Holder | None = None) -> str:
        """Returns the series of the last XID, which has the code as value and as label."""
        return self.series("DCGM_FI_DEV_XID_ERRORS", holder, err_code=str(code), err_msg="")


@dataclass(frozen=True)
class Controller:
    """A pod of a controller that Prometheus scrapes."""

    name: str
    namespace: str
    replica: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    def series(self, metric: str, **labels: str) -> str:
        target = {
            "namespace": self.namespace,
            "pod": f"{self.name}-{self.replica}",
            "container": self.name,
            "job": self.name,
            "instance": f"10.0.0.{10 + self.replica}:8080",
        }
        return text(metric, {**labels, **self.labels, **target})


KARPENTER = Controller("karpenter", "karpenter")
KARPENTER_RESTARTED = Controller("karpenter", "karpenter", 1)
KUEUE = Controller("kueue", "kueue-system", 0, {"replica_role": "leader"})
KUEUE_FOLLOWER = Controller("kueue", "kueue-system", 1, {"replica_role": "follower"})
STATE = Controller("kube-state-metrics", "monitoring")
AUDIT = Controller("gatekeeper-audit", "gatekeeper-system")


def text(metric: str, labels: Mapping[str, str]) -> str:
    """Returns a series in the notation of promtool. A label with an empty value does not exist in Prometheus."""
    shown = ",".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return f"{metric}{{{shown}}}"


def node_labels(node: str, **labels: str) -> str:
    """Returns the series of the labels of a node; names of labels as kube-state-metrics writes them."""
    return STATE.series("kube_node_labels", node=node, **{f"label_{name}": value for name, value in labels.items()})


def pool_node(node: str, pool: str, instance_type: str = "p5.48xlarge") -> str:
    """Returns the series of the labels of a node of a pool."""
    return node_labels(node, gpuc_dev_pool=pool, node_kubernetes_io_instance_type=instance_type)


def allocatable(node: str, resource: str) -> str:
    """Returns the series of an allocatable resource; its name as kube-state-metrics writes it."""
    unit = "byte" if resource.startswith("hugepages") else "integer"
    return STATE.series("kube_node_status_allocatable", node=node, resource=resource, unit=unit)


def karpenter_node(node: str, pool: str, capacity_type: str, resource: str = "cpu") -> str:
    """Returns one of the series that Karpenter writes for each resource of a node."""
    return KARPENTER.series(
        "karpenter_nodes_allocatable",
        node_name=node,
        nodepool=pool,
        capacity_type=capacity_type,
        resource_type=resource,
        instance_type="p5.48xlarge",
        phase="Running",
        managed="true",
    )


def disrupted(pool: str, reason: str, capacity_type: str = "on-demand", controller: Controller = KARPENTER) -> str:
    """Returns the counter of NodeClaims that Karpenter ended for a reason. It begins with the first event."""
    return controller.series(
        "karpenter_nodeclaims_disrupted_total", nodepool=pool, reason=reason, capacity_type=capacity_type
    )
