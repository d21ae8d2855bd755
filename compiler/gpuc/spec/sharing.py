"""How containers share GPUs: exclusive use, MIG, time-slicing and MPS."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuc.spec.base import Count, OneOf, Shorthand, SpecModel
from gpuc.spec.form import Form, Words


def _without_prefix(text: str) -> str:
    return text.lower().removeprefix("nvidia.com/").removeprefix("mig-")


Profile = Annotated[
    str,
    Form(r"^[1-9]g\.[0-9]+gb(\+me\.all|\+me|\+gfx|-me)?$", "a MIG profile such as 2g.10gb", _without_prefix),
]
"""The name of a MIG profile, for example 1g.10gb."""

Layout = Annotated[dict[Profile, Count], Words("a map such as {1g.10gb: 7}")]
"""Number of MIG instances on one GPU, by profile."""


class GpuLayout(OneOf):
    """The MIG layout of some GPUs of each node."""

    one_of = ("layout", "whole")

    in_messages: ClassVar[str] = "{index: [0, 1], layout: {1g.10gb: 7}}"

    index: Annotated[list[Annotated[int, Field(ge=0, le=63)]], Field(min_length=1)]
    """The numbers of the GPUs that have the layout. The first GPU of a node has the number 0."""

    layout: Annotated[Layout, Field(min_length=1)] | None = None
    """The number of MIG instances on each of these GPUs, by profile. Instead of `whole`."""

    whole: Literal[True] | None = None
    """true if these GPUs are not partitioned: containers get complete GPUs. Instead of `layout`."""


class Mig(OneOf):
    """MIG partitions of GPUs: one layout for every GPU of a node, or a layout for each GPU number."""

    one_of = ("every", "gpus")

    in_messages: ClassVar[str] = "{every: {1g.10gb: 7}}"

    every: Annotated[Layout, Field(min_length=1)] | None = None
    """The same layout for every GPU of the pool: number of MIG instances by profile. Instead of `gpus`."""

    gpus: Annotated[list[GpuLayout], Field(min_length=1)] | None = None
    """Layouts by GPU number. Every GPU of the node must have exactly one layout. Instead of `every`."""

    strategy: Literal["mixed", "single"] = "mixed"
    """Resource names of slices: with mixed one name per MIG profile, with single nvidia.com/gpu for every slice."""


class TimeSlicing(SpecModel):
    """Containers use a GPU in turn. Containers on a GPU are not isolated from each other: neither memory nor errors."""

    in_messages: ClassVar[str] = "{replicas: 4}"

    replicas: Annotated[int, Field(ge=2, le=64)]
    """The number of GPU shares per GPU: the number of containers that use a GPU in turn."""


class Mps(SpecModel):
    """Processes use a GPU at the same time through NVIDIA MPS. Every process gets an equal fraction of the memory."""

    in_messages: ClassVar[str] = "{replicas: 8}"

    replicas: Annotated[int, Field(ge=2, le=48)]
    """The number of GPU shares per GPU: the containers that use a GPU at once. An MPS server supports at most 48."""

    user: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1000
    """The user ID of all containers on the pool. An MPS server serves the processes of one user at a time."""


class Sharing(Shorthand):
    """How containers share a GPU. Exactly one of exclusive, mig, timeSlicing and mps."""

    short_for: ClassVar[str] = "exclusive"

    exclusive: Literal["exclusive"] | None = None
    """A container uses complete GPUs: `sharing: exclusive`."""

    mig: Mig | None = None
    """MIG partitions of GPUs, with memory and errors of their own: `every` or `gpus`."""

    time_slicing: TimeSlicing | None = None
    """Containers use a GPU in turn. Neither memory nor errors are isolated."""

    mps: Mps | None = None
    """Processes use a GPU at the same time through NVIDIA MPS. Each gets an equal fraction of the memory."""

    @model_validator(mode="after")
    def _one_mode(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("write one of exclusive, mig, timeSlicing and mps")
        return self
