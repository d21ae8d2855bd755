"""Queues: which tenants get how much quota of the node pools, and what they can borrow and preempt."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuc.spec.base import Accept, Count, Name, SpecModel
from gpuc.spec.form import Words
from gpuc.spec.sharing import Profile

Amount = Annotated[int, Field(ge=0, le=100_000)]

Limit = Annotated[
    Literal["all"] | Amount | dict[Profile, Amount],
    Words("all, a whole number of at least 0, or a number for each MIG profile such as {1g.10gb: 4}"),
]
"""A borrowing or lending limit: all, a number in the unit of the quota, or a number by MIG profile.

One number for all profiles would not say which slices a queue can borrow.
"""


class PoolAmount(SpecModel):
    """An amount of a pool's capacity, in nodes, GPUs, MIG slices or GPU shares."""

    in_messages: ClassVar[str] = "{nodes: 4}"

    nodes: Count | None = None
    """The quota in nodes, with all their GPUs. Instead of `gpus`, `slices` and `shares`."""

    gpus: Count | None = None
    """The quota in whole GPUs. Allowed together with slices if the pool has whole GPUs and slices."""

    slices: Annotated[dict[Profile, Count], Field(min_length=1), Words("a map such as {1g.10gb: 7}")] | None = None
    """The quota in MIG slices by profile, for pools with `sharing.mig`."""

    shares: Count | None = None
    """The quota in GPU shares, for pools with `sharing.timeSlicing` or `sharing.mps`."""

    @model_validator(mode="after")
    def _unit(self) -> Self:
        units = [unit for unit in ("nodes", "gpus", "slices", "shares") if getattr(self, unit) is not None]
        if len(units) != 1 and units != ["gpus", "slices"]:
            raise ValueError("write one of nodes, gpus, slices and shares, or gpus together with slices")
        return self


class Quota(PoolAmount):
    """The nominal quota of a queue on one pool, and the limits for borrowing and lending."""

    borrow: Limit = 0
    """The borrowing limit: how much quota the queue may borrow in its cohort, in the unit of the quota.

    all is no limit. A map has a limit for each MIG profile.
    """

    lend: Limit = "all"
    """The lending limit: how much idle quota the queue lends in its cohort, in the unit of the quota.

    all is no limit. A map has a limit for each MIG profile.
    """


class Preempt(SpecModel):
    """Which running workloads Kueue may preempt to admit workloads of the queue."""

    in_messages: ClassVar[str] = "{withinQueue: lower-priority}"

    within_queue: Literal["never", "lower-priority", "lower-or-newer"] = "never"
    """Which workloads of the same queue Kueue may preempt."""

    reclaim: Literal["never", "lower-priority", "any"] = "never"
    """Which workloads of other queues Kueue may preempt when the queue reclaims lent quota."""

    borrowing: Literal["never", "lower-priority"] = "never"
    """Which workloads of other queues Kueue may preempt while the queue borrows. Not allowed with fair sharing."""


class Queue(SpecModel):
    """A queue. It has a ClusterQueue for node pools with GPUs, and another ClusterQueue for other node pools."""

    in_messages: ClassVar[str] = "{tenants: [research], quota: {train: {nodes: 4}}}"

    tenants: Annotated[list[Name], Field(min_length=1)]
    """The tenants whose namespaces may submit workloads. Each of these namespaces gets a LocalQueue."""

    cohort: Name | None = None
    """The cohort in which the queue lends and borrows quota. A queue without a cohort does neither."""

    quota: Annotated[dict[Name, Quota], Field(min_length=1), Words("quotas of node pools such as {train: {nodes: 4}}")]
    """The quota by pool. Kueue tries the pools in this order."""

    strategy: Literal["best-effort", "strict"] = "best-effort"
    """The order in which Kueue admits the workloads of the queue: by priority, then by age.

    best-effort: Kueue may admit a later workload while an earlier one waits for quota.

    strict: a workload that waits for quota blocks the later workloads.
    """

    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """The weight of the queue in fair sharing: weight 2 gets twice the idle quota of weight 1.

    No effect without `queueing.fairSharing`.
    """

    preempt: Preempt = Field(default_factory=Preempt.model_construct)
    """Which workloads Kueue may preempt for workloads of the queue."""

    leaving: bool = False
    """Whether the queue will be removed. The queue admits no new workloads; running workloads continue.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the queue from the spec.
    """

    accept: Accept = {}
    """Reasons by id for findings, and for impacts of `gpuc plan`, that are accepted for the queue."""


class Cohort(SpecModel):
    """A group of queues that lend quota to each other."""

    in_messages: ClassVar[str] = "{weight: 1}"

    weight: Annotated[int, Field(ge=1, le=1000)] = 1
    """The weight of the cohort in fair sharing with the other cohorts and the queues of the same parent.

    No effect without `queueing.fairSharing`, and no effect without `parent`.
    """

    parent: Name | None = None
    """The parent, another cohort of the spec. Cohorts that are connected by parents form a tree.

    A queue can borrow from all queues of the tree, and lends to all of them, within the limits `borrow` and `lend` of
    the queues.
    """


class Queueing(SpecModel):
    """Settings of all queues: fair sharing."""

    in_messages: ClassVar[str] = "{fairSharing: true}"

    fair_sharing: bool = False
    """Whether Kueue divides idle quota by weight. Not allowed together with preempt.borrowing."""
