"""The parts of the spec about nodes that exist: their names, and what the kubelet leaves to pods."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from gpuc.spec.base import Bytes, Count, SpecModel
from gpuc.spec.form import Form
from gpuc.spec.platform import Millicores
from gpuc.spec.substrate import Sections

NodeName = Annotated[
    str,
    Form(
        r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        "the name of a Node: lower-case letters, digits, hyphens and dots",
        str.lower,
    ),
    Field(max_length=253),
]
"""The name of a Node object, for example gpu-a01."""


class Reserved(SpecModel):
    """The CPU and memory of a node that pods cannot use."""

    in_messages: ClassVar[str] = "{cpu: 2000m, memory: 16Gi}"

    cpu: Millicores
    """CPU that the kubelet keeps back: kubeReserved and systemReserved together, in millicores, for example 2000m."""

    memory: Bytes
    """Memory that pods cannot use: kubeReserved, systemReserved, evictionHard, and what the kernel keeps for itself."""


class Existing(SpecModel):
    """Nodes that exist: gpuc starts, replaces and ends no node. The GPU Operator installs the driver."""

    in_messages: ClassVar[str] = "{reserved: {cpu: 2000m, memory: 16Gi}, disk: 3500Gi}"

    # Nothing in Git knows the configuration of the kubelet, so `reserved` and `disk` are facts of the spec.
    reserved: Reserved
    """What pods cannot use on each node. `kubectl describe node` shows the difference of Capacity and Allocatable."""

    disk: Bytes
    """The ephemeral storage for pods on each node: Allocatable of ephemeral-storage in `kubectl describe node`."""

    pods: Count = 110
    """The largest number of pods on a node: maxPods of the kubelet."""


class Machines(SpecModel):
    """The machines of a node pool."""

    in_messages: ClassVar[str] = "{names: [gpu-a01, gpu-a02]}"

    names: list[NodeName] = []
    """The names of the Node objects, as many as `nodes.static`. A node is in one pool.

    Node feature discovery, a part of the GPU Operator, gives the nodes the labels and taints of the pool.
    """

    reserved: Reserved | None = None
    """What pods cannot use on each node of the pool. Default: `cloud.none.reserved`."""

    disk: Bytes | None = None
    """The ephemeral storage for pods on each node of the pool. Default: `cloud.none.disk`."""


SECTIONS = Sections(
    folder="none",
    name="none",
    title="existing nodes",
    cloud=Existing,
    cloud_text="Nodes that exist, without a cloud and without an autoscaler.",
    pool_key="machines",
    pool=Machines,
    pool_text="The existing nodes of the pool, with `cloud.none`.",
    fields={},
)


def machines(pool: BaseModel) -> Machines:
    """Returns the section of a node pool."""
    section = getattr(pool, SECTIONS.pool_key)
    assert isinstance(section, Machines)
    return section


def existing(cloud: BaseModel) -> Existing:
    """Returns the section of a cluster."""
    section = getattr(cloud, SECTIONS.name)
    assert isinstance(section, Existing)
    return section
