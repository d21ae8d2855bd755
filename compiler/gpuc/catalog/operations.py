"""Classes for tables of the catalog that only some commands use, for example about NCCL and XID error codes."""

from typing import Literal

from msgspec import Struct

from gpuc.catalog.records import Confidence, Sources


class KubernetesVersion(Struct, frozen=True):
    """A version of Kubernetes, and the minimum versions of the components that support it."""

    version: str
    minimum: dict[str, str]
    """The minimum versions by component."""
    source: Sources
    confidence: Confidence = "high"


Subject = Literal[
    "pod",
    "service",
    "api-server",
    "own-node",
    "node-agent",
    "other-node",
    "from-own-node",
    "metadata",
    "outside",
    "excluded",
    "named",
    "gateway",
    "load-balancer",
    "efa",
]
"""The other end of a connection of a pod: a pod; the ClusterIP of a Service; the ClusterIP of Service kubernetes; the
node of the pod; an agent at a link-local address of this node; another node; the node of the pod as client; the
instance metadata service; an address outside of the cluster; an address that an ipBlock excludes; an address that DNS
returned for a host name; a client behind a proxy of the engine; a load balancer; another EFA device."""


class DatapathFact(Struct, frozen=True):
    """Which peers in a network policy match packets, for one network policy engine and one kind of connection."""

    engine: Literal["vpc-cni", "cilium"]
    subject: Subject
    matched_by: tuple[Literal["selector", "ip-block", "entity", "name", "nothing"], ...]
    """The peers of a policy that include the subject; nothing if no policy applies and the connection is allowed. Empty
    if no peer includes the subject."""
    statement: str
    """The fact as a sentence, for the report of `gpuc isolation`."""
    source: Sources
    entity: str = ""
    """The entity of a CiliumNetworkPolicy that includes the subject; empty if `matched_by` contains no entity."""
    confidence: Confidence = "high"


class TimeZone(Struct, frozen=True):
    """A time zone, for example America/New_York, with its offsets from UTC."""

    name: str
    offsets: tuple[int, ...]
    """The different offsets from UTC in minutes, sorted: one offset, or two offsets with daylight saving time."""
    source: Sources


class NcclVerdict(Struct, frozen=True):
    """Whether an environment variable of NCCL helps or harms on nodes with EFA and the plugin aws-ofi-nccl."""

    name: str
    """Name of the variable, or a prefix of names if `prefix` is true."""
    verdict: Literal[
        "recommended", "situational", "redundant", "no effect", "obsolete", "deprecated", "removed", "harmful"
    ]
    why: str
    source: Sources
    value: str = ""
    """The value to which the verdict applies; empty for all values."""
    prefix: bool = False
    confidence: Confidence = "high"

    def matches(self, name: str, value: str) -> bool:
        """Returns whether the verdict applies to a variable with this value. NCCL ignores the case of values."""
        is_named = name.startswith(self.name) if self.prefix else name == self.name
        return is_named and (not self.value or self.value.lower() == value.lower())


class NcclVariable(Struct, frozen=True):
    """An environment variable of NCCL or of the EFA plugin, and its allowed values."""

    name: str
    type: Literal["bool", "int", "enum", "list", "string", "path", "cidr"]
    source: Sources
    values: tuple[str, ...] = ()
    """Allowed values of an enum, or of the elements of a list, case-insensitive. Empty if all values are allowed."""
    minimum: int | None = None
    maximum: int | None = None


class EfaPod(Struct, frozen=True):
    """Resources that a pod with EFA needs in addition to its EFA interfaces."""

    hugepages_mib: int
    """Request and limit of hugepages-2Mi, in MiB."""
    source: Sources


class Nccl(Struct, frozen=True):
    """The tables about NCCL: variables, recommended and harmful settings, and requests of pods with EFA."""

    verdicts: tuple[NcclVerdict, ...]
    variables: dict[str, NcclVariable]
    """Variables by name."""
    pod: EfaPod


class Xid(Struct, frozen=True):
    """An XID, an error code of the NVIDIA driver, with the action that NVIDIA documents for it."""

    xid: int
    isolation: Literal["isolate", "watch", "never"]
    """isolate: stop using the node. watch: inspect the node if the error repeats. never: continue to use the node."""
    action: Literal["reset-gpu", "replace-node", "restart-pod", "none"]
    """What an administrator does when a GPU reports the XID. GPU reset on EC2: by hand, or with a new instance."""
    source: Sources
    reason: str = ""
    """Why no action is necessary; empty if an action is."""
    confidence: Confidence = "high"


class DcgmMetric(Struct, frozen=True):
    """A metric that the DCGM exporter can export: a line `name, type, help` in the exporter's list of metrics."""

    name: str
    type: Literal["gauge", "counter", "label"]
    default: bool
    """Whether the default list of the exporter contains the field."""
    help: str
    """Help text without commas, because the list is comma-separated."""
    source: Sources
    is_added: bool = False
    """Whether gpuc exports the field in addition to the default list, for alerts or dashboards."""


class Kubelet(Struct, frozen=True):
    """Resources that the virtual machine and the kubelet reserve on a node, as Karpenter predicts them."""

    vm_memory_overhead_permille: int
    """Per mille of the instance memory. The remaining memory is rounded down to MiB."""
    arm64_reserved_memory_mib: int
    """Memory that is subtracted on arm64 instance types before the overhead."""
    reserved_memory_mib: int
    reserved_memory_per_pod_mib: int
    eviction_memory_mib: int
    reserved_cpu_milli_by_core: tuple[int, ...]
    """CPU reserved for each of the first cores."""
    reserved_cpu_micro_per_further_core: int
    """CPU reserved for each further core, in thousandths of a millicore."""
    root_volume_gib: int
    """Default size of the root volume."""
    eviction_storage_percent: int
    reserved_storage_gib: int
    fields: tuple[str, ...]
    """The fields of a KubeletConfiguration."""
    source: Sources
