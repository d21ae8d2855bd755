"""Node pools: hardware, capacity, GPU sharing, fabric and the length of runs."""

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


def _utc_time(text: str) -> str:
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ValueError(f'"{text}" is not a time in UTC; expected a time such as 2027-01-31T11:30:00Z') from None
    return text


UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), AfterValidator(_utc_time)]
"""A time in UTC, for example "2027-01-31T11:30:00Z"."""


class Image(Shorthand):
    """The machine image: an alias that Karpenter resolves (al2023@v20260815), or a family and an AMI id."""

    short_for: ClassVar[str] = "alias"

    alias: Annotated[str, Field(pattern=r"^(al2|al2023|bottlerocket)@(latest|v?[0-9][0-9.]*)$")] | None = None
    """Family and version, for example al2023@v20260815."""

    family: Literal["AL2023", "Bottlerocket", "Ubuntu"] | None = None
    """The family of your own AMI."""

    id: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = None
    """The id of your own AMI."""

    @model_validator(mode="after")
    def _alias_or_ami(self) -> Self:
        if (self.alias is None) == (self.id is None) or (self.id is None) != (self.family is None):
            raise ValueError("write an alias such as al2023@v20260815, or family and id")
        return self


class Nodes(SpecModel):
    """The number of nodes: up to max on demand, or a static number."""

    max: Count | None = None
    """The maximum number of nodes. The pool starts with no nodes."""

    static: Count | None = None
    """The number of nodes that always run, used or not."""

    @model_validator(mode="after")
    def _max_or_static(self) -> Self:
        if (self.max is None) == (self.static is None):
            raise ValueError("write either max or static")
        return self


class CapacityBlock(SpecModel):
    """A capacity block for ML, which ends at a fixed time."""

    ends: UtcTime
    """The end of the block. EC2 begins to terminate the instances 30 minutes before."""


class Reservations(SpecModel):
    """Reserved EC2 capacity."""

    ids: Annotated[list[Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$")]], Field(min_length=1)]
    """Ids of capacity reservations or capacity blocks."""

    block: CapacityBlock | None = None
    """Set if the reservations are capacity blocks."""


class Runs(SpecModel):
    """The length of runs, and the time between checkpoints."""

    longest: Seconds
    """The duration of the longest run. Karpenter does not disrupt nodes during a run."""

    checkpoint_every: Seconds | None = None
    """The time between checkpoints. Absent if runs save no checkpoints."""


class Pool(SpecModel):
    """A node pool."""

    purpose: Purpose
    """The use of the pool. general means no GPUs; the others decide the defaults of disruption and isolation."""

    instances: Annotated[list[Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]], Field(min_length=1)]
    """EC2 instance types. All must advertise the same resource names."""

    purchase: Annotated[list[Purchase], Field(min_length=1)]
    """Allowed purchase options. Karpenter prefers reserved, then spot, then on-demand."""

    reservations: Reservations | None = None
    """The reservations for the purchase option reserved."""

    zones: Annotated[list[Zone], Field(min_length=1)] | None = None
    """The zones of the pool. Default: the zones of the cluster. A pool with EFA must have one zone."""

    nodes: Nodes
    """The number of nodes."""

    sharing: Sharing | None = None
    """How containers share GPUs. Required for pools with GPUs."""

    fabric: Literal["efa"] | None = None
    """A fast network between nodes in addition to the pod network."""

    runs: Runs | None = None
    """The length of runs, and the time between checkpoints."""

    idle_after: Seconds | None = None
    """The time after which Karpenter removes an empty node."""

    placement: Literal["cluster"] | None = None
    """cluster starts all nodes in one EC2 placement group with the cluster strategy."""

    topology: Annotated[list[Level], Field(min_length=1)] | None = None
    """Levels for topology-aware scheduling, widest first. Requires static nodes."""

    image: Image | None = None
    """The machine image of the pool. Default: the image of the cluster."""

    root_volume: Bytes | None = None
    """Size of the root volume. Default: 200Gi with GPUs, 100Gi without."""

    leaving: bool = False
    """Whether the pool will be removed. It gets no new nodes and no new work; running work continues.

    The first of two commits; the second commit removes the pool from the spec."""

    accept: Accept = {}
    """Findings that are accepted for the pool, with the reason."""
