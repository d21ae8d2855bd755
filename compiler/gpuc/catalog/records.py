"""What the rows of the catalog's JSON files are: one frozen type per table, units in the names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Confidence = Literal["high", "medium", "low"]
"""A check that rests on a row of low confidence may warn, never refuse."""
Sources = tuple[str, ...]
"""Keys of the `sources` map of the row's file."""


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 instance type; without a GPU, `gpu` is empty."""

    type: str
    family: str
    arch: Literal["amd64", "arm64"]
    vcpu: int
    memory_mib: int
    """As EC2 reports it, before anything is reserved."""
    pods: int
    """The most pods that the kubelet takes, without prefix delegation."""
    source: Sources
    gpu: str = ""
    """Key of `Catalog.gpus`."""
    gpu_count: int = 0
    """0 also on g6f and gr6f, which carry a part of a GPU and which Karpenter therefore never picks."""
    local_nvme_gb: int = 0
    """Decimal gigabytes; 0 without an instance store."""
    network_cards: int = 1
    efa: int = 0
    """Count of vpc.amazonaws.com/efa of the whole node; 0 without EFA."""
    hourly_usd: float | None = None
    """On demand, Linux, us-east-1; None where it is not published."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class UnsupportedInstance:
    """An EC2 instance type that exists, but not with the figures that a pool needs."""

    type: str
    reason: str
    source: Sources
    confidence: Confidence = "low"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU product."""

    id: str
    name: str
    """As NVML reports it."""
    architecture: str
    """Value of nvidia.com/gpu.family: volta, turing, ampere, ada-lovelace, hopper, blackwell."""
    compute_capability: str
    min_driver_branch: int
    source: Sources
    memory_mib: int | None = None
    """Value of nvidia.com/gpu.memory; None where nobody published it."""
    karpenter_name: str = ""
    """Value of karpenter.k8s.aws/instance-gpu-name; empty where no EC2 type carries the GPU."""
    max_driver_branch: int | None = None
    """The last branch that supports the GPU; None while the newest does."""
    confidence: Confidence = "high"

    @property
    def mps_clients_max(self) -> int:
        """The most MPS clients of one GPU, so the most replicas: 16 below compute capability 7.5, else 48.

        Source: k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/device.go.
        """
        major, minor = self.compute_capability.split(".")
        return 48 if (int(major), int(minor)) >= (7, 5) else 16


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One MIG profile on the boards of one profile set; the same name means other things on others."""

    set: str
    profile: str
    """As nvidia-smi and mig-parted write it: "1g.10gb+me"."""
    memory_slices: int
    starts: tuple[int, ...] = ()
    """Placement units at which an instance may begin; empty where nobody published them."""
    size: int = 0
    """Placement units that an instance covers; 0 where nobody published it."""
    smi_id: int | None = None
    """Profile id of `nvidia-smi mig -cgi`."""
    media: Literal["", "me", "me.all", "-me"] = ""
    """Media engines: the default share, the extension, all, none; one me and one me.all per GPU."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class MigProfileSet:
    """The profiles that the boards of one memory size share."""

    id: str
    gpus: tuple[str, ...]
    memory_slices: int
    """Of the whole GPU; a profile's share of the GPU is its memory slices over these."""
    source: Sources
    placement_units: int = 0
    """Length of the row on which instances are placed; 0 where nobody published placements."""
    profiles: dict[str, MigProfile] = field(default_factory=dict)
    """Profile by its name."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class Image:
    """One family of node images, and who owns what on its nodes."""

    id: str
    ami_family: str
    """amiFamily of an EC2NodeClass."""
    alias_pattern: str
    """What a pinned alias matches in full; empty where nodes are selected by AMI id only."""
    driver: Literal["image", "operator"]
    toolkit: Literal["image", "operator"]
    device_plugin: Literal["image", "operator"]
    mig: Literal["user-data", "operator", "settings", ""]
    """Who partitions GPUs: a unit from user data, the MIG manager, the image's settings, or nobody."""
    root_volume_min_gib: int
    """The smallest volume for what holds pods: the image's own snapshot, and at least Karpenter's default."""
    source: Sources
    driver_version: str = ""
    """Of the newest image on record; empty where the operator installs the driver."""
    kubernetes_min: str = ""
    kubernetes_max: str = ""
    """The last Kubernetes version that the family is built for; empty while it is maintained."""
    efa_driver: bool = False
    efa_hugepages_2mi: int = 0
    """Pages of 2 MiB that the image allocates at boot on types with EFA: memory that the node lacks."""
    unsupported_families: tuple[str, ...] = ()
    """Instance families whose GPU the image's driver does not run."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class Release:
    """One chart of a release set: a component in a version."""

    set: str
    component: str
    repo: str
    """As Argo CD writes it: an OCI registry without its scheme."""
    chart: str
    version: str
    namespace: str
    source: Sources
    crds_from: str = ""
    """The component that installs its custom resource definitions; empty where it has none."""
    groups: tuple[str, ...] = ()
    """API groups of its own custom kinds: objects of these groups need the chart."""
    kubernetes_min: str = ""
    kubernetes_max: str = ""
    """The last version it is known to run on; empty where the project names none."""
    default_driver: str = ""
    """Of the GPU Operator: the driver that it installs."""
    confidence: Confidence = "high"
    """Of the Kubernetes range."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The image of one operand of the GPU Operator: what the operator's chart would put into the ClusterPolicy."""

    operator: str
    """The version of the operator's chart."""
    operand: str
    """The operand's place below `spec` of the ClusterPolicy, for example driver.manager."""
    repository: str
    image: str
    tag: str
    source: Sources


@dataclass(frozen=True, slots=True)
class NullField:
    """A field of a custom kind that a chart renders as null when a value is empty."""

    component: str
    version: str
    """The chart's."""
    value: str
    """Path of the value, with points between its keys."""
    kind: str
    field: str
    """Path of the field in the object."""
    source: Sources
    object_if: str = ""
    """Path of the switch that the object needs; empty where the chart always renders it."""
    object_default: bool = True
    """The chart's own value of that switch."""


@dataclass(frozen=True, slots=True)
class Daemonset:
    """What one daemonset asks of each node that it lands on."""

    name: str
    component: str
    """The component that brings it, or "eks" for what the managed cluster always runs."""
    nodes: Literal["all", "gpu", "efa"]
    """efa: the types in the instance list of the EFA device plugin, whether or not the pool's pods use EFA."""
    cpu_milli: int
    memory_mib: int
    source: Sources
    confidence: Confidence = "high"
