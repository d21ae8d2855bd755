"""Rows that only some stages read: versions that go together, NCCL, XIDs, metrics, what a node keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuc.catalog.records import Confidence, Sources


@dataclass(frozen=True, slots=True)
class KubernetesVersion:
    """What goes with one Kubernetes version."""

    version: str
    karpenter_min: str
    source: Sources
    gpu_operator_min: str = ""
    argo_cd: tuple[str, ...] = ()
    """Releases that are tested on it; empty where none of the recorded ones is."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class DriverBranch:
    """One branch of the data-centre driver."""

    branch: int
    kind: Literal["LTSB", "PB", "NFB"]
    """Long-term support, production, new feature."""
    max_cuda: str
    supported: bool
    source: Sources
    end: str = ""
    """Month of the end of support; empty where it is not recorded."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class NcclVerdict:
    """What a setting of the environment does on an EFA cluster with a current aws-ofi-nccl."""

    name: str
    """Variable, or its beginning where `prefix` is set."""
    verdict: Literal[
        "recommended", "situational", "redundant", "no effect", "obsolete", "deprecated", "removed", "harmful"
    ]
    why: str
    source: Sources
    value: str = ""
    """The value that the verdict is about; empty for every value."""
    prefix: bool = False
    applies: str = ""
    """The software from which on it holds; empty for always."""
    confidence: Confidence = "high"

    def matches(self, name: str, value: str) -> bool:
        """Whether the verdict is about this setting; values compare without case, as NCCL reads them."""
        named = name.startswith(self.name) if self.prefix else name == self.name
        return named and (not self.value or self.value.lower() == value.lower())


@dataclass(frozen=True, slots=True)
class NcclVariable:
    """One known variable of NCCL or of the EFA plugin, and what may stand in it."""

    name: str
    section: Literal["system", "debug", "plugin"]
    """Variables of the debug section are for experiments, not for production."""
    type: Literal["bool", "int", "enum", "list", "string", "path", "cidr"]
    status: Literal["current", "experimental", "deprecated", "alias", "renamed", "removed"]
    source: Sources
    values: tuple[str, ...] = ()
    """Allowed words of an enum or a list (compare without case); empty for any."""
    minimum: int | None = None
    maximum: int | None = None
    default: str = ""
    since: str = ""
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class EfaDefaults:
    """What the EFA plugin of NCCL decides on one full node."""

    type: str
    efa: int
    protocol: Literal["rdma", "sendrecv"]
    gdr_required: bool
    """Whether the plugin refuses to start without GPUDirect RDMA."""
    source: Sources
    sets: tuple[tuple[str, str], ...] = ()
    """Variables that it sets when they are unset, each with its value."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class EfaPod:
    """What a pod on EFA asks for beside the interfaces."""

    hugepages_mib: int
    """Request and limit of hugepages-2Mi."""
    source: Sources


@dataclass(frozen=True, slots=True)
class Nccl:
    """The tables of the collective communication library."""

    verdicts: tuple[NcclVerdict, ...]
    variables: dict[str, NcclVariable]
    """Variable by name."""
    efa: dict[str, EfaDefaults]
    """Defaults by instance type."""
    pod: EfaPod


@dataclass(frozen=True, slots=True)
class Xid:
    """One error code of the GPU driver."""

    xid: int
    mnemonic: str
    severity: Literal["application", "degraded", "link", "other_fault", "hardware_setup", "gpu_fatal", "information"]
    source: Sources
    isolation: Literal["isolate", "watch", "never", ""] = ""
    """Take the node out, look when it repeats, never take it out; empty where no source decides."""
    action: str = ""
    """What to do where `isolation` is set, or why nothing is done."""
    device_plugin_ignores: bool = False
    eks_condition: bool = False
    """Whether the EKS node monitoring agent makes it a condition of the node."""
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class DcgmMetric:
    """One field of the DCGM exporter; `name, type, help` is its line in a metric list."""

    name: str
    type: Literal["gauge", "counter", "label"]
    default: bool
    """Whether the exporter's own list has it."""
    group: Literal["device", "profiling", "exporter"]
    unit: str
    help: str
    """Without a comma: the list is comma-separated."""
    source: Sources


@dataclass(frozen=True, slots=True)
class NodeVector:
    """A published prediction: what Karpenter leaves of one instance type for pods."""

    type: str
    vcpu: int
    memory_mib: int
    pods: int
    left_cpu_milli: int
    left_memory_mib: int
    source: Sources


@dataclass(frozen=True, slots=True)
class Kubelet:
    """What the virtual machine and the kubelet keep of a node, as Karpenter predicts it."""

    vm_memory_overhead_permille: int
    """Of the instance's memory; what remains is rounded down to whole MiB."""
    arm64_reserved_memory_mib: int
    """Taken from the memory of arm64 types before the overhead is."""
    reserved_memory_mib: int
    reserved_memory_per_pod_mib: int
    eviction_memory_mib: int
    reserved_cpu_milli_by_core: tuple[int, ...]
    """Of the first cores, one by one."""
    reserved_cpu_micro_per_further_core: int
    """Thousandths of a millicore."""
    root_volume_gib: int
    """Size of the root volume where the pool names none."""
    eviction_storage_percent: int
    reserved_storage_gib: int
    source: Sources
    vectors: tuple[NodeVector, ...] = ()
