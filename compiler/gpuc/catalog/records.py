"""Classes for the tables of the catalog: one class for the rows of each table. Field names contain units."""

from typing import Literal

from msgspec import Struct, field

from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, Amounts

Confidence = Literal["high", "medium", "low"]
"""Confidence in the facts of a row. A rule that uses a row of low confidence reports warnings, not errors."""
Sources = tuple[str, ...]
"""Keys of the `sources` map in the same file. A row of a fleet has the text of its source instead."""
Purchase = Literal["reserved", "spot", "on-demand"]
"""Purchase options of EC2 capacity."""


class InstanceType(Struct, frozen=True):
    """An EC2 instance type. `gpu` is empty if the type has no GPU."""

    type: str
    family: str
    arch: Literal["amd64", "arm64"]
    vcpu: int
    memory_mib: int
    """Memory as EC2 reports it, before reservations."""
    pods: int
    """Maximum number of pods of the kubelet, without prefix delegation."""
    source: Sources
    gpu: str = ""
    """Key of `Catalog.gpus`."""
    gpu_count: int = 0
    """Number of complete GPUs. 0 also for g6f and gr6f with a fraction of a GPU, which Karpenter never selects."""
    local_nvme_gb: int = 0
    """Size of the instance store in decimal gigabytes; 0 if there is none."""
    network_cards: int = 1
    network_layers: int = 3
    """Number of network nodes in the topology of an instance: the layers of the network above the instance."""
    efa: int = 0
    """Number of EFA devices (vpc.amazonaws.com/efa) of a node; 0 without EFA."""
    nvswitch: bool = False
    """Whether NVSwitches connect the GPUs. CUDA then starts only after the Fabric Manager has configured them."""
    host_driver: bool = False
    """Whether the operating system of the maker contains the NVIDIA driver. False for instance types of EC2."""
    dmi_product: str = ""
    """The product_name that the firmware of a server reports; empty if gpuc has no source."""
    confidence: Confidence = "high"


class UnsupportedInstance(Struct, frozen=True):
    """An EC2 instance type with GPUs that gpuc refuses in pools, with the reason."""

    type: str
    reason: str
    source: Sources
    confidence: Confidence = "low"


class Gpu(Struct, frozen=True):
    """A GPU model, such as the H100, and the properties that gpuc needs, such as its memory."""

    id: str
    name: str
    """Product name as NVML reports it."""
    architecture: str
    """Value of nvidia.com/gpu.family: volta, turing, ampere, ada-lovelace, hopper, blackwell."""
    compute_capability: str
    min_driver_branch: int
    source: Sources
    memory_mib: int | None = None
    """Value of nvidia.com/gpu.memory; None if unpublished."""
    karpenter_name: str = ""
    """Value of karpenter.k8s.aws/instance-gpu-name; empty if no EC2 type has the GPU."""
    peak_tflops: float | None = None
    """The peak of the tensor cores with dense 16-bit numbers, in 10^12 operations per second; None if gpuc has no
    source."""
    max_driver_branch: int | None = None
    """The last driver branch that supports the GPU; None if the newest branch supports it."""
    confidence: Confidence = "high"

    @property
    def mps_clients_max(self) -> int:
        """The maximum number of programs that can share a GPU with MPS: 16 below compute capability 7.5, otherwise 48.

        Source: k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/device.go.
        """
        major, minor = self.compute_capability.split(".")
        return 48 if (int(major), int(minor)) >= (7, 5) else 16


class MigProfile(Struct, frozen=True):
    """A MIG profile in a set of profiles. Another set can have a profile with the same name and other properties."""

    set: str
    profile: str
    """Name in nvidia-smi and mig-parted, for example "1g.10gb+me"."""
    memory_slices: int
    starts: tuple[int, ...] = ()
    """Placement units at which an instance may start; empty if unpublished."""
    size: int = 0
    """Number of placement units of an instance; 0 if unpublished."""
    smi_id: int | None = None
    """Profile id of `nvidia-smi mig -cgi`."""
    media: Literal["", "me", "me.all", "-me"] = ""
    """Media engines of an instance: default, me, all (me.all) or none (-me). A GPU allows me and me.all once each."""
    confidence: Confidence = "high"


class MigProfileSet(Struct, frozen=True):
    """The MIG profiles of GPU models that have the same memory size."""

    id: str
    gpus: tuple[str, ...]
    memory_slices: int
    """Memory slices of the complete GPU. A profile has the fraction: its memory slices divided by this number."""
    source: Sources
    placement_units: int = 0
    """Number of placement units of the GPU; 0 if placements are unpublished."""
    profiles: dict[str, MigProfile] = field(default_factory=dict)
    """Profiles by name."""
    confidence: Confidence = "high"


class Image(Struct, frozen=True):
    """A family of node images, such as AL2023, and who installs each NVIDIA component on nodes with such an image."""

    id: str
    ami_family: str
    """The amiFamily of an EC2NodeClass."""
    alias_pattern: str
    """Regular expression for pinned aliases; empty if the family has only AMI ids."""
    driver: Literal["image", "operator"]
    toolkit: Literal["image", "operator"]
    device_plugin: Literal["image", "operator"]
    mig: Literal["user-data", "operator", "settings", ""]
    """How GPUs are partitioned: by user data, by the MIG manager, by settings of the image, or not at all."""
    root_volume_min_gib: int
    """Minimum size of the volume for pods: the larger of the image snapshot and Karpenter's default."""
    source: Sources
    driver_version: str = ""
    """Driver version of the newest known image; empty if the GPU Operator installs the driver."""
    kubernetes_min: str = ""
    kubernetes_max: str = ""
    """The last Kubernetes version with images of the family; empty while the family is maintained."""
    efa_driver: bool = False
    efa_hugepages_2mi: int = 0
    """Number of 2 MiB huge pages that the image allocates at boot on instance types with EFA."""
    unsupported_families: tuple[str, ...] = ()
    """Instance families whose GPUs the driver of the image does not support."""
    confidence: Confidence = "high"


class Release(Struct, frozen=True):
    """A Helm chart in one version, as a part of a release set. A release set has one version of each chart."""

    set: str
    component: str
    repo: str
    """URL of the chart repository in the form of Argo CD: an OCI registry without its scheme."""
    chart: str
    version: str
    namespace: str
    source: Sources
    crds_from: str = ""
    """The component that installs the CRDs; empty if there are no CRDs."""
    groups: tuple[str, ...] = ()
    """API groups of the chart's custom resources. Objects of these groups need the chart."""
    webhook_service: str = ""
    """The Service of the chart's admission webhooks, whose decisions gpuc models; empty if there is none."""
    kubernetes_min: str = ""
    kubernetes_max: str = ""
    """The last supported Kubernetes version; empty if the project does not publish a last version."""
    default_driver: str = ""
    """Only for the GPU Operator: the driver version that the operator installs."""
    substrate: str = ""
    """The folder of the substrate whose clusters have the component; empty for all clusters."""
    optional: bool = False
    """Whether a cluster has the component only if its spec names the component in `components`."""
    frameworks: dict[str, str] = field(default_factory=dict)
    """The frameworks of Kueue whose controller the chart installs, each with the name of the ServiceAccount."""
    requires: tuple[str, ...] = ()
    """Optional components without which the programs of the chart do not work."""
    confidence: Confidence = "high"
    """Confidence of the Kubernetes range."""


class Operand(Struct, frozen=True):
    """The image of an operand (a program that the GPU Operator runs), as the chart writes it to the ClusterPolicy."""

    operator: str
    """The chart version of the operator."""
    operand: str
    """The path of the operand below `spec` of the ClusterPolicy, for example driver.manager."""
    repository: str
    image: str
    tag: str
    source: Sources


class EmbeddedDocument(Struct, frozen=True):
    """A YAML document in a string of a chart's Helm values. The schema of the Helm values does not describe it."""

    component: str
    path: tuple[str, ...]
    """The path of the text in the Helm values."""
    api: str
    """The apiVersion of the document, for example config.kueue.x-k8s.io/v1beta2."""
    kind: str
    source: Sources

    @property
    def title(self) -> str:
        """The name of the document in messages, for example "kueue configuration"."""
        return f"{self.component} {self.kind.lower()}"


class NullField(Struct, frozen=True):
    """A field of a custom resource that a chart renders as null if a Helm value is empty."""

    component: str
    version: str
    """The version of the chart."""
    value: str
    """Path of the value in values.yaml, separated by dots."""
    kind: str
    field: str
    """Path of the field in the rendered object."""
    source: Sources
    object_if: str = ""
    """Path of the value that enables the object; empty if the chart always renders the object."""
    object_default: bool = True
    """The default, in the chart, of the value that `object_if` names."""


FLEET, NODE_AGENT = "fleet", "spec"
"""Components of DaemonSets that no component of gpuc installs."""


class Daemonset(Struct, frozen=True):
    """A DaemonSet, and the resources that its pod requests on each node."""

    name: str
    component: str
    """The component that installs the DaemonSet.

    If all clusters of a substrate have the DaemonSet, the folder of the substrate. FLEET if the fleet declares the
    DaemonSet for all of its clusters. NODE_AGENT for an entry of `nodeAgents` in the spec.
    """
    nodes: Literal["all", "gpu", "efa"]
    """The nodes of the DaemonSet. efa: nodes with an instance type that the EFA device plugin supports."""
    cpu_milli: int
    memory_mib: int
    source: Sources
    confidence: Confidence = "high"

    @property
    def requests(self) -> Amounts:
        """The cpu and memory that one pod of the DaemonSet requests."""
        return {CPU: self.cpu_milli, MEMORY: self.memory_mib * MIB}

    def runs_on(self, *, has_gpus: bool, has_efa: bool) -> bool:
        """Returns whether the DaemonSet has a pod on nodes with or without GPUs and EFA devices."""
        return {"all": True, "gpu": has_gpus, "efa": has_efa}[self.nodes]


class EksRegistry(Struct, frozen=True):
    """The image registry of AWS for EKS add-ons in a region. Its AWS account depends on the region."""

    region: str
    host: str
    source: Sources
    confidence: Confidence = "high"
