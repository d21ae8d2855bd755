"""Queues: who may use how much of which pool, and who gives way."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gpuc.spec.base import Accept, Count, Name, SpecModel
from gpuc.spec.sharing import Profile

Amount = Annotated[int, Field(ge=0, le=100_000)]

Part = Literal["all"] | Amount | dict[Profile, Amount]
"""How much of a quota: all of it, a number in the quota's unit, or a number by MIG profile."""


class Quota(SpecModel):
    """What a queue is owed of one pool, in nodes, GPUs, MIG slices or shares."""

    nodes: Count | None = None
    """Whole nodes."""

    gpus: Count | None = None
    """Whole GPUs; beside slices, the whole GPUs of a pool that has both."""

    slices: Annotated[dict[Profile, Count], Field(min_length=1)] | None = None
    """MIG instances by profile."""

    shares: Count | None = None
    """Shares of time-sliced or MPS GPUs."""

    borrow: Part = 0
    """How much more it may take of what others of the cohort lend."""

    lend: Part = "all"
    """How much of its own others may take while it is idle."""

    @model_validator(mode="after")
    def _unit(self) -> Self:
        named = [name for name in ("nodes", "gpus", "slices", "shares") if getattr(self, name) is not None]
        if len(named) != 1 and named != ["gpus", "slices"]:
            raise ValueError("write one of nodes, gpus, slices and shares; gpus may stand beside slices")
        return self


class Preempt(SpecModel):
    """Who gives way to whom."""

    within_queue: Literal["never", "lower-priority", "lower-or-newer"] = "never"
    """Which workloads of the same queue give way."""

    reclaim: Literal["never", "lower-priority", "any"] = "never"
    """Which workloads of others give way when the queue wants back what it lent."""

    borrowing: Literal["never", "lower-priority"] = "never"
    """Which workloads of others give way so that the queue can borrow; excluded by fair sharing."""


class Queue(SpecModel):
    """A ClusterQueue over GPU pools, and one beside it over general pools where it names any."""

    tenants: Annotated[list[Name], Field(min_length=1)]
    """Whose namespaces may submit."""

    cohort: Name | None = None
    """With whom it lends and borrows."""

    quota: Annotated[dict[Name, Quota], Field(min_length=1)]
    """What it is owed, by pool; the order is the order in which pools are tried."""

    strategy: Literal["best-effort", "strict"] = "best-effort"
    """Whether smaller work may pass a workload that waits: best-effort, or strict first in first out."""

    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """Its part in fair sharing."""

    preempt: Preempt = Field(default_factory=Preempt)
    """Who gives way to whom."""

    leaving: bool = False
    """Whether the queue is on its way out: it admits no new work, and running work goes on.

    The first of two commits; the second takes the queue out of the spec."""

    accept: Accept = {}
    """Findings that are accepted here, with the reason."""


class Cohort(SpecModel):
    """Queues that lend to one another."""

    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """Its part in fair sharing beside other cohorts of the same parent."""

    parent: Name | None = None
    """The cohort above."""


class Queueing(SpecModel):
    """Switches of the queue controller."""

    fair_sharing: bool = False
    """Whether idle quota is divided by weight; excludes preemption while borrowing."""
