"""How the GPUs of a node are shared."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuc.spec.base import Count, Shorthand, SpecModel

Profile = Annotated[str, Field(pattern=r"^[1-9]g\.[0-9]+gb(\+me\.all|\+me|\+gfx|-me)?$")]
"""A MIG profile as NVIDIA names it, for example 1g.10gb."""

Layout = dict[Profile, Count]
"""Instances per GPU by MIG profile."""


class GpuLayout(SpecModel):
    """What some GPUs of a node are cut into."""

    index: Annotated[list[Annotated[int, Field(ge=0, le=63)]], Field(min_length=1)]
    """GPU numbers, from 0."""

    layout: Annotated[Layout, Field(min_length=1)] | None = None
    """Instances by profile; absent where the GPUs stay whole."""

    whole: Literal[True] | None = None
    """Whether these GPUs stay whole."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.layout is None) == (self.whole is None):
            raise ValueError("write either layout or whole: true")
        return self


class Mig(SpecModel):
    """Hardware partitions: the same layout on every GPU, or one per GPU number."""

    every: Annotated[Layout, Field(min_length=1)] | None = None
    """The layout of every GPU, instances by profile."""

    gpus: Annotated[list[GpuLayout], Field(min_length=1)] | None = None
    """Layouts by GPU number; together they name each GPU of the node once."""

    strategy: Literal["mixed", "single"] = "mixed"
    """How slices are named: mixed gives each profile its own resource, single calls every slice nvidia.com/gpu."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.every is None) == (self.gpus is None):
            raise ValueError("write either every or gpus")
        return self


class TimeSlicing(SpecModel):
    """GPUs that several containers use in turn; neither memory nor faults are isolated."""

    replicas: Annotated[int, Field(ge=2, le=64)]
    """Shares per GPU."""


class Mps(SpecModel):
    """GPUs that several processes use at once through NVIDIA MPS, each with a part of the memory."""

    replicas: Annotated[int, Field(ge=2, le=48)]
    """Shares per GPU; the MPS server takes 48 clients at most."""


class Sharing(Shorthand):
    """How one GPU serves: exclusive, mig, timeSlicing or mps."""

    short_for: ClassVar[str] = "exclusive"

    exclusive: Literal["exclusive"] | None = None
    """One container per GPU."""

    mig: Mig | None = None
    """Hardware partitions."""

    time_slicing: TimeSlicing | None = None
    """Shares in turn."""

    mps: Mps | None = None
    """Shares at once."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("write one of exclusive, mig, timeSlicing and mps")
        return self
