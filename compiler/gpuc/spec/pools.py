"""Node pools: hardware, capacity, GPU sharing, fabric and the length of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpuc.spec.base import Accept, Bytes, Count, Seconds, Shorthand, SpecModel
from gpuc.spec.sharing import Sharing

Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
"""An availability zone, for example us-east-1a."""

Purchase = Literal["reserved", "spot", "on-demand"]
Purpose = Literal["general", "training", "inference", "interactive"]
Level = Literal["zone", "block", "host"]


def _utc_time(text: str) -> str:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ValueError(f'"{text}" is not a time in UTC; expected a time such as 2027-01-31T11:30:00Z') from None
    return text


UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), AfterValidator(_utc_time)]
"""A time in UTC, for example "2027-01-31T11:30:00Z"."""


class Image(Shorthand):
    """The AMI of nodes: an alias of a public AMI (al2023@v20260815), or the family and the id of your AMI."""

    short_for: ClassVar[str] = "alias"

    alias: Annotated[str, Field(pattern=r"^(al2|al2023|bottlerocket)@(latest|v?[0-9][0-9.]*)$")] | None = None
    """AMI family and version, for example al2023@v20260815. Karpenter finds the AMI."""

    family: Literal["AL2023", "Bottlerocket", "Ubuntu"] | None = None
    """The AMI family of your AMI."""

    id: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = None
    """The id of your AMI."""

    @model_validator(mode="after")
    def _alias_or_ami(self) -> Self:
        if (self.alias is None) == (self.id is None) or (self.id is None) != (self.family is None):
            raise ValueError("write an alias such as al2023@v20260815, or family and id")
        return self


class Nodes(SpecModel):
    """The number of nodes: nodes for pending pods up to a maximum, or a static number."""

    max: Count | None = None
    """The maximum number of nodes. Karpenter starts a node only for pending pods."""

    static: Count | None = None
    """The number of nodes that always run, with or without pods."""

    @model_validator(mode="after")
    def _max_or_static(self) -> Self:
        if (self.max is None) == (self.static is None):
            raise ValueError("write either max or static")
        return self


class CapacityBlock(SpecModel):
    """A capacity block for ML, which ends at a fixed time."""

    ends: UtcTime
    """The end of the capacity block. EC2 begins to terminate the instances 30 minutes earlier."""


class Reservations(SpecModel):
    """Reserved EC2 capacity."""

    ids: Annotated[list[Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")]], Field(min_length=1)]
    """Ids of capacity reservations or capacity blocks."""

    instances: Count | None = None
    """The number of instances of all reservations together. gpuc cannot check this.

    A static pool with reserved capacity only replaces nodes by itself if the number is greater than `nodes.static`.
    """

    block: CapacityBlock | None = None
    """The end of the capacity blocks. Absent if the reservations are no capacity blocks."""


class Runs(SpecModel):
    """The length of runs, and the time between checkpoints."""

    longest: Seconds
    """The duration of the longest run. Karpenter does not disrupt nodes during a run."""

    checkpoint_every: Seconds | None = None
    """The time between checkpoints. Absent if runs save no checkpoints."""


def _default_purchase(fields: dict[str, Any]) -> list[Purchase]:
    """Returns the purchase options of a pool whose spec contains none. `fields` are the fields before `purchase`."""
    return ["reserved"] if fields.get("reservations") else ["on-demand"]


class Pool(SpecModel):
    """A node pool."""

    purpose: Purpose
    """The use of the pool. general is for nodes without GPUs. The other uses set defaults of disruption and alerts."""

    instances: Annotated[list[Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]], Field(min_length=1)]
    """EC2 instance types. Nodes of all types must advertise the same resource names."""

    reservations: Reservations | None = None
    """The EC2 reservations for the purchase option reserved."""

    purchase: Annotated[list[Purchase], Field(min_length=1)] = Field(default_factory=_default_purchase)
    """Allowed purchase options. Karpenter prefers reserved, then spot, then on-demand.

    Default: reserved if the pool has reservations, on-demand if the pool has none. A pool with reservations buys other
    capacity only if this list contains it.
    """

    zones: Annotated[list[Zone], Field(min_length=1)] | None = None
    """The zones of the pool. Default: the zones of the cluster. A pool with EFA must have one zone."""

    nodes: Nodes
    """The number of nodes."""

    counted: Literal["kueue", "quota"] | None = None
    """How the GPUs of the pool are counted. Default: quota for purpose inference, kueue for all other purposes.

    kueue: the quotas of the queues. quota: a ResourceQuota in each namespace, without Kueue, for pods that run without
    an end.
    """

    sharing: Sharing | None = None
    """How containers share a GPU. Required for pools with GPUs."""

    fabric: Literal["efa"] | None = None
    """The network for NCCL between nodes, in addition to the pod network."""

    runs: Runs | None = None
    """The length of runs, and the time between checkpoints."""

    idle_after: Seconds | None = None
    """The time after which Karpenter removes an empty node."""

    expire_after: Seconds | None = None
    """The maximum lifetime of a node. Default: nodes do not expire.

    When a node expires, Karpenter drains the node at once, without a disruption budget and before a new node has
    started. Nodes that started together expire together. New AMIs do not need this field: Karpenter replaces the nodes
    one after another.
    """

    placement: Literal["cluster"] | None = None
    """The strategy of the EC2 placement group for all nodes of the pool. Default: no placement group."""

    topology: Annotated[list[Level], Field(min_length=1)] | None = None
    """Levels of topology-aware scheduling, from the widest to the narrowest. Requires static nodes."""

    image: Image | None = None
    """The AMI of the pool. Default: the AMI of the cluster."""

    root_volume: Bytes | None = None
    """Size of the root volume. Default: 200Gi with GPUs, 100Gi without."""

    root_volume_throughput: Annotated[int, Field(ge=125, le=1000)] | None = None
    """Throughput of the root volume in MiB/s. Default: 1000 for GPU nodes that have no local disks for images, and 125
    for other nodes."""

    root_volume_iops: Annotated[int, Field(ge=3000, le=16_000)] | None = None
    """I/O operations per second of the root volume. Default: four for each MiB/s of throughput, at least 3000."""

    hold: bool = False
    """Whether the queues admit no new workloads to the pool, for example before the end of a capacity block.

    Running workloads continue, and Karpenter replaces lost nodes. Only for pools that Kueue counts.
    """

    leaving: bool = False
    """Whether the pool will be removed. The pool gets no new nodes and no new workloads; running workloads continue.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the pool from the spec.
    """

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted for the pool."""
