"""Time series with the labels that the pinned exporters and Prometheus write.

Sources: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go and
internal/pkg/collector; NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter; the pages /metrics of Karpenter 1.14.1
and of two replicas of Kueue 0.19.2; kubernetes/kube-state-metrics v2.20 docs/metrics/cluster/node-metrics.md;
open-policy-agent/gatekeeper v3.23.0 pkg/audit/stats_reporter.go, website/docs/metrics.md. The labels namespace, pod,
container, service, endpoint, job and instance are those of a target of the Prometheus operator.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial


@dataclass(frozen=True)
class Holder:
    """A container that uses a GPU. The exporter knows the container only by the name of its resource."""

    namespace: str
    pod: str
    container: str = "main"
    vgpu: str = ""


@dataclass(frozen=True)
class Gpu:
    """A GPU."""

    node: str
    number: int = 0

    def series(self, metric: str, holder: Holder | None = None, **labels: str) -> str:
        """Returns a series of the DCGM exporter, as Prometheus stores it with `honorLabels: true`.

        A GPU that no pod uses gets the labels of the exporter's own pod from Prometheus.
        """
        exporter = Holder("gpu-operator", f"nvidia-dcgm-exporter-{self.node}", "nvidia-dcgm-exporter")
        return text(
            metric,
            {
                "hostname": self.node,
                "gpu": str(self.number),
                "UUID": f"GPU-{self.node}-{self.number}",
                "pci_bus_id": f"00000000:{self.number + 16:02X}:00.0",
                "device": f"nvidia{self.number}",
                "modelName": "NVIDIA H100 80GB HBM3",
                "DCGM_FI_DRIVER_VERSION": "580.126.20",
                **asdict(holder or exporter),
                **labels,
                "service": "nvidia-dcgm-exporter",
                "endpoint": "gpu-metrics",
                "job": "nvidia-dcgm-exporter",
                "instance": f"{self.node}:9400",
            },
        )


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
KUEUE = Controller("kueue", "kueue-system", 0, {"replica_role": "leader"})
KUEUE_FOLLOWER = Controller("kueue", "kueue-system", 1, {"replica_role": "follower"})
STATE = Controller("kube-state-metrics", "monitoring")
TRAINER = Holder("team-a", "trainer-0")
SOURCES = {
    "karpenter": KARPENTER.series,
    "karpenter-1": Controller("karpenter", "karpenter", 1).series,
    "kueue": KUEUE.series,
    "kueue-1": KUEUE_FOLLOWER.series,
    "kueue-any": Controller("kueue", "kueue-system").series,
    "state": STATE.series,
    "audit": Controller("gatekeeper-audit", "gatekeeper-system").series,
    "audit-1": Controller("gatekeeper-audit", "gatekeeper-system", 1).series,
    "webhook": Controller("gatekeeper-controller-manager", "gatekeeper-system").series,
    **{f"gpu{number}": Gpu("n1", number).series for number in range(8)},
    **{f"gpu{number}@trainer": partial(Gpu("n1", number).series, holder=TRAINER) for number in range(8)},
}
"""The sources of the series in cases.yaml; karpenter-1 is the pod after a restart, kueue-1 the follower."""


def series(words: str) -> str:
    """Returns the series of a source, a metric and labels, for example `state kube_node_labels node=n1`."""
    source, metric, *labels = words.split()
    return SOURCES[source](metric, **dict(label.split("=", 1) for label in labels))


def text(metric: str, labels: Mapping[str, str]) -> str:
    """Returns a series in the notation of promtool. A label with an empty value does not exist in Prometheus."""
    shown = ",".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return f"{metric}{{{shown}}}"


def pool_node(node: str, pool: str, instance_type: str = "p5.48xlarge") -> str:
    """Returns the series of the labels of a node of a pool; names of labels as kube-state-metrics writes them."""
    labels = {"label_gpuc_dev_pool": pool, "label_node_kubernetes_io_instance_type": instance_type}
    return STATE.series("kube_node_labels", node=node, **labels)


def allocatable(node: str, resource: str) -> str:
    """Returns the series of an allocatable resource; its name as kube-state-metrics writes it."""
    unit = "byte" if resource.startswith("hugepages") else "integer"
    return STATE.series("kube_node_status_allocatable", node=node, resource=resource, unit=unit)
