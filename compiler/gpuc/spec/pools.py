"""Node pools: hardware, capacity, sharing, fabric and the runs they have to survive."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpuc.spec.base import Accept, Bytes, Count, Seconds, Shorthand, SpecModel
from gpuc.spec.sharing import Sharing

Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
"""An availability zone, for example us-east-1a."""

Purchase = Literal["reserved", "spot", "on-demand"]
Purpose = Literal["general", "training", "inference", "interactive"]
Level = Literal["zone", "block", "host"]


def _moment(text: str) -> str:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ValueError(f'"{text}" is no moment in UTC; write one as in 2027-01-31T11:30:00Z') from None
    return text


UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), AfterValidator(_moment)]
"""A moment in UTC, for example "2027-01-31T11:30:00Z"."""


class Image(Shorthand):
    """The machine image: an alias that Karpenter resolves (al2023@v20260815), or a family and an AMI id."""

    short_for: ClassVar[str] = "alias"

    alias: Annotated[str, Field(pattern=r"^(al2|al2023|bottlerocket)@(latest|v?[0-9][0-9.]*)$")] | None = None
    """Family and pinned version."""

    family: Literal["AL2023", "Bottlerocket", "Ubuntu"] | None = None
    """The family of the AMI that id names."""

    id: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = None
    """An AMI of your own."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.alias is None) == (self.id is None) or (self.id is None) != (self.family is None):
            raise ValueError("write an alias such as al2023@v20260815, or family and id")
        return self


class Nodes(SpecModel):
    """How many nodes: up to max as work needs them, or a static number that is always there."""

    max: Count | None = None
    """The most nodes; the pool starts at none."""

    static: Count | None = None
    """Nodes that are kept whether or not they are used."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.max is None) == (self.static is None):
            raise ValueError("write either max or static")
        return self


class CapacityBlock(SpecModel):
    """A capacity block for ML: reserved for a span of time that ends."""

    ends: UtcTime
    """When the block ends; EC2 begins to stop its instances half an hour before."""


class Reservations(SpecModel):
    """Capacity that was bought beforehand."""

    ids: Annotated[list[Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")]], Field(min_length=1)]
    """Ids of capacity reservations or capacity blocks."""

    block: CapacityBlock | None = None
    """Present where the reservations are capacity blocks."""


class Runs(SpecModel):
    """How long work runs, and how often it saves itself."""

    longest: Seconds
    """The longest run; nodes are not taken from under one."""

    checkpoint_every: Seconds | None = None
    """How often work saves its state; absent where it does not."""


class Pool(SpecModel):
    """Nodes of one kind."""

    purpose: Purpose
    """What it is for: general pools have no GPUs; the others decide defaults of disruption and isolation."""

    instances: Annotated[list[Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]], Field(min_length=1)]
    """EC2 instance types; all advertise the same resource names."""

    purchase: Annotated[list[Purchase], Field(min_length=1)]
    """How capacity may be bought; Karpenter prefers reserved, then spot, then on-demand."""

    reservations: Reservations | None = None
    """The reserved capacity that purchase: reserved uses."""

    zones: Annotated[list[Zone], Field(min_length=1)] | None = None
    """Zones of this pool; those of the cluster where absent. Pools with EFA have one."""

    nodes: Nodes
    """How many nodes."""

    sharing: Sharing | None = None
    """How GPUs are shared; pools with GPUs name it."""

    fabric: Literal["efa"] | None = None
    """The network between nodes that work may use beside the pod network."""

    runs: Runs | None = None
    """How long work runs here."""

    idle_after: Seconds | None = None
    """How long a node stays empty before it is removed."""

    placement: Literal["cluster"] | None = None
    """Whether nodes stand close together, in a placement group of the cluster strategy."""

    topology: Annotated[list[Level], Field(min_length=1)] | None = None
    """Levels for topology-aware scheduling, widest first; only where nodes are static."""

    image: Image | None = None
    """The machine image of this pool; that of the cluster where absent."""

    root_volume: Bytes | None = None
    """Size of the root volume; 200Gi with GPUs and 100Gi without where absent."""

    leaving: bool = False
    """Whether the pool is on its way out: it gets no new nodes and no new work, and running work goes on.

    The first of two commits; the second takes the pool out of the spec."""

    accept: Accept = {}
    """Findings that are accepted here, with the reason."""
