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
    confidence: Confidence = "high"

    def matches(self, name: str, value: str) -> bool:
        """Whether the verdict is about this setting; values compare without case, as NCCL reads them."""
        named = name.startswith(self.name) if self.prefix else name == self.name
        return named and (not self.value or self.value.lower() == value.lower())


@dataclass(frozen=True, slots=True)
class NcclVariable:
    """One known variable of NCCL or of the EFA plugin, and what may stand in it."""

    name: str
    type: Literal["bool", "int", "enum", "list", "string", "path", "cidr"]
    source: Sources
    values: tuple[str, ...] = ()
    """Allowed words of an enum or a list (compare without case); empty for any."""
    minimum: int | None = None
    maximum: int | None = None


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
    pod: EfaPod


@dataclass(frozen=True, slots=True)
class Xid:
    """One error code of the GPU driver, of those that a source gives an action for."""

    xid: int
    isolation: Literal["isolate", "watch", "never"]
    """Take the node out, look when it repeats, never take it out."""
    action: str
    """What to do, or why nothing is done."""
    source: Sources
    confidence: Confidence = "high"


@dataclass(frozen=True, slots=True)
class DcgmMetric:
    """One field of the DCGM exporter; `name, type, help` is its line in a metric list."""

    name: str
    type: Literal["gauge", "counter", "label"]
    default: bool
    """Whether the exporter's own list has it."""
    help: str
    """Without a comma: the list is comma-separated."""
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
