"""The sections of the spec for nodes that exist: the names of the nodes, and the resources that pods can use."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from gpuc.spec.base import Bytes, Count, Name, Reason, SpecModel
from gpuc.spec.form import Words, text_error
from gpuc.spec.platform import Millicores
from gpuc.spec.substrate import Sections
from gpuc.substrates.on_premises.node_names import NodeName, NodeNames, all_names
from gpuc.substrates.on_premises.share_section import NamespaceVolumes, Share

_SHARE = r"(100|[1-9]?[0-9])%"


def _spares(value: Any) -> Any:
    """Returns a number of nodes or a share of nodes."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000:
        return value
    if isinstance(value, str) and re.fullmatch(_SHARE, value):
        return value
    fixed = str(value).replace(" ", "")
    raise text_error("a number of nodes such as 2, or a share such as 10%", fixed * bool(re.fullmatch(_SHARE, fixed)))


Spares = Annotated[
    int | str,
    BeforeValidator(_spares),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": f"^{_SHARE}$"}]}),
    Words("a number of nodes such as 2, or a share such as 10%"),
]
"""A number of nodes, or a share of the nodes of a pool in percent, rounded up."""


class Reserved(SpecModel):
    """The CPU and memory of a node that pods cannot use."""

    in_messages: ClassVar[str] = "{cpu: 2000m, memory: 16Gi}"

    cpu: Millicores
    """CPU that the kubelet keeps back: kubeReserved and systemReserved together, in millicores, for example 2000m."""

    memory: Bytes
    """Memory that pods cannot use: kubeReserved, systemReserved, evictionHard, and what the kernel keeps for itself."""


class Existing(SpecModel):
    """A cluster of nodes that exist. gpuc never starts, replaces or ends a node."""

    in_messages: ClassVar[str] = "{gpuDriver: operator, reserved: {cpu: 2000m, memory: 16Gi}, disk: 3500Gi}"

    gpu_driver: Literal["operator", "host"]
    """Who installs the NVIDIA driver on the nodes, for node pools without `machines.gpuDriver`.

    operator: the GPU Operator. The nodes have no driver. A new version of the driver reaches as many nodes at a time as
    the pool with the fewest `spares` has, at least one: the GPU Operator cordons a node, and waits until no pod that
    Kueue started is on it.

    host: the operating system, for example DGX OS. Those who maintain the nodes also upgrade the driver.

    The GPU Operator always installs the container toolkit, the device plugin and the other agents.
    """

    reserved: Reserved
    """What pods cannot use on each node. `kubectl describe node` shows the difference of Capacity and Allocatable."""

    disk: Bytes
    """The ephemeral storage for pods on each node: Allocatable of ephemeral-storage in `kubectl describe node`."""

    pods: Count = 110
    """The largest number of pods on a node: maxPods of the kubelet."""

    racks: dict[Name, Annotated[list[NodeNames], Field(min_length=1)]] = {}
    """The nodes of each rack, for node pools with rack in `topology`. A node is in one rack."""

    memlock: Literal["default", "unlimited"] = "default"
    """The locked memory of containers: unlimited writes a drop-in for the systemd unit of containerd, see
    `clusters/<cluster>/nodes/`. Programs that use RDMA without root need it."""

    shares: dict[Name, Share] = {}
    """Shares that exist, by name. `volumes` of namespaces mount them."""


class Machines(SpecModel):
    """The existing nodes of a node pool: their names, the spares, and the resources that pods cannot use."""

    in_messages: ClassVar[str] = "{names: [gpu-a01, gpu-a02]}"

    names: list[NodeNames] = []
    """The names of the Node objects, or ranges of names: `"gpu-a[01-08]"` means gpu-a01 to gpu-a08.

    A node is in one pool. A range in a list in brackets needs quotes. Node feature discovery, a part of the GPU
    Operator, gives the nodes the labels and taints of the pool.
    """

    excluded: dict[NodeName, Reason] = {}
    """Nodes of the pool that take no pods for now, for example while they are repaired, with the reason.

    They keep the labels and taints of the pool, and get the taint gpuc.dev/excluded. No quota counts them.
    """

    spares: Spares = 0
    """The nodes of the pool that no quota promises: a number, or a share of all nodes such as 10%, rounded up.

    A spare is no particular node: all nodes take pods. When a node fails, its pods find a place on the others.
    """

    reserved: Reserved | None = None
    """What pods cannot use on each node of the pool. Default: `cloud.onPremises.reserved`."""

    disk: Bytes | None = None
    """The ephemeral storage for pods on each node of the pool. Default: `cloud.onPremises.disk`."""

    gpu_driver: Literal["operator", "host"] | None = None
    """Who installs the NVIDIA driver on the nodes of the pool. Default: `cloud.onPremises.gpuDriver`."""

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes of the pool. Ranges are replaced by the names in the range."""
        return tuple(all_names(self.names))

    @property
    def working(self) -> tuple[str, ...]:
        """The names of the nodes that take pods: all nodes of the pool, without the excluded nodes."""
        return tuple(name for name in self.nodes if name not in self.excluded)

    @property
    def spare_count(self) -> int:
        """The number of spares: how many nodes of the pool the quotas leave free, in case other nodes fail."""
        if isinstance(self.spares, int):
            return self.spares
        return -(-len(self.nodes) * int(self.spares.removesuffix("%")) // 100)


SECTIONS = Sections(
    folder="on_premises",
    name="onPremises",
    title="existing nodes",
    cloud=Existing,
    cloud_text="Nodes that exist, without a cloud and without an autoscaler.",
    pool_key="machines",
    pool=Machines,
    pool_text="The existing nodes of the pool, with `cloud.onPremises`.",
    names_nodes=True,
    instead={
        "zones": "topology: [rack, host] and cloud.onPremises.racks",
        "image": "cloud.onPremises.gpuDriver",
        "rootVolume": "machines.disk",
    },
    fields={"Namespace": NamespaceVolumes},
)


def machines(pool: BaseModel) -> Machines:
    """Returns the section `machines` of a node pool in the spec."""
    section = getattr(pool, SECTIONS.pool_key)
    assert isinstance(section, Machines)
    return section


def existing(cloud: BaseModel) -> Existing:
    """Returns the section `cloud.onPremises` of a spec. The cluster must be on existing nodes."""
    section = getattr(cloud, SECTIONS.name)
    assert isinstance(section, Existing)
    return section


def racks(cloud: BaseModel) -> dict[str, dict[str, int]]:
    """Returns the nodes of each rack: {rack: {node: index}}, with the index of the node's entry in the rack's list."""
    return {rack: all_names(names) for rack, names in existing(cloud).racks.items()}


def by_rack(cloud: BaseModel, names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names of the given nodes by rack. Racks without any of these nodes are left out."""
    own = list(names)
    found = {rack: [name for name in own if name in nodes] for rack, nodes in racks(cloud).items()}
    return {rack: nodes for rack, nodes in found.items() if nodes}
