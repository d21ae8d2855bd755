"""Impacts on cohorts, and the order and preemption of workloads."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.impacts.queues.kueue import configuration_changes
from gpuc.plan.quota_changes import QuotaChange, loses, parent_path, parents, queue_name, quota_changes
from gpuc.plan.tenant_changes import tenant_of


@impact("IMP214", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/cohort.go, resource_node.go")
def cohort_moves(change: Change) -> Impacts:
    """A cohort gets another parent, or has no parent any more.

    All queues below the cohort lend to the queues of the new tree and borrow from them. Workloads that run with
    borrowed quota of the old tree continue.
    """
    for pair in change.kept(GROUP, "Cohort"):
        before, after = parents(pair)
        if before == after:
            continue
        if after:
            message = f"moves from parent {before} to parent {after}" if before else f"gets parent {after}"
        else:
            message = f"leaves parent {before}"
        yield Raised(f"cohort {pair.name}", message, pair.after, parent_path(pair), loses(quota_changes(change)))


@impact("IMP213", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateClusterQueue")
def queue_joins_cohort(change: Change) -> Impacts:
    """A queue without a cohort joins a cohort.

    The queue can borrow idle quota of the cohort and lends its own idle quota, within its limits. Running workloads are
    not disturbed. Workloads above the nominal quota can be preempted from then on, if other queues may reclaim quota.
    """
    details = tuple(quota.most_text for quota in quota_changes(change) if quota.after.most > quota.before.most)
    for pair in change.kept(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if after and not before:
            yield Raised(f"queue {queue_name(pair)}", f"joins cohort {after}", pair.after, parent_path(pair), details)


@impact("IMP212", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateClusterQueue")
def queue_leaves_cohort(change: Change) -> Impacts:
    """A queue leaves its cohort, or moves to another cohort.

    Workloads that run with borrowed quota continue, in both directions, and no queue can reclaim this quota any
    more. Until they end, the queues together use more than their quota, so that pods of new workloads can wait for
    nodes.
    """
    changes = quota_changes(change)
    renamed = set(_renamed(change, changes))
    for pair in change.kept(GROUP, "ClusterQueue"):
        (before, after), name = parents(pair), queue_name(pair)
        if not before or before == after or name in renamed:
            continue
        message = f"moves from cohort {before} to cohort {after}" if after else f"leaves cohort {before}"
        own = [quota for quota in changes if quota.queue == name]
        of_cohort = [quota for quota in changes if quota not in own and parents(quota.pair)[0] == before]
        details = (
            f"from then on, workloads borrow from queues of cohort {after}" if after else "the queue borrows nothing",
            *loses(own),
            *loses(quota for quota in of_cohort if quota.before[:2] == quota.after[:2]),
            "no queue can reclaim quota that it has lent to the other side, until the workloads there end",
        )
        yield Raised(f"queue {name}", message, pair.after, parent_path(pair), details)


def _renamed(change: Change, changes: Iterable[QuotaChange]) -> Iterator[str]:
    """Yields the queues of cohorts that only get another name: the same queues, which can use the same quota."""
    losing = {quota.queue for quota in changes if quota.after.most < quota.before.most}
    cohorts = grouped(change.pairs(GROUP, "ClusterQueue"), lambda pair: parents(pair)[0])
    for name, pairs in cohorts.items():
        moved, names = {parents(pair)[1] for pair in pairs}, {queue_name(pair) for pair in pairs}
        if name and len(moved) == 1 and "" not in moved and not names & losing:
            yield from names


@impact(
    "IMP244",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/cache/queue/cluster_queue.go, baseCompareFunc; "
    "pkg/scheduler/preemption/preemption.go, findCandidates",
)
def queue_is_shared(change: Change) -> Impacts:
    """Another tenant gets a queue that a tenant has.

    All workloads of a queue wait in one order, by priority and age, and use the same quota.
    """
    for name, pairs in grouped(change.kept(GROUP, "ClusterQueue"), queue_name).items():
        before, after = _tenants(change, pairs, 0), _tenants(change, pairs, 1)
        joining, staying = ([tenant for tenant in after if (tenant in before) == is_old] for is_old in (False, True))
        if not joining or not staying:
            continue
        olds, news = kind_of(staying, "tenant"), kind_of(joining, "tenant")
        message = f"{news} and {olds} share the quota: workloads of {olds} wait while those of {news} use it"
        policies = {pair.name: pair.values("spec", "preemption", "withinClusterQueue")[1] for pair in pairs}
        preempting = [queue for queue, policy in policies.items() if policy not in (None, "Never")]
        evicted = f"workloads of {olds} in {', '.join(preempting)} can be evicted for workloads with a higher priority"
        path = ("spec", "namespaceSelector")
        predicts = (Prediction(f"workloads of queue {name}", "perhaps waiting"),)
        yield Raised(f"queue {name}", message, pairs[0].after, path, (evicted,) if preempting else (), predicts)


def _tenants(change: Change, queues: list[Pair], state: int) -> list[str]:
    """Returns the tenants with a LocalQueue of the queue before (0) or after (1) the change, sorted."""
    names = {pair.name for pair in queues}
    found = set()
    for local in change.pairs(GROUP, "LocalQueue"):
        namespace = change.pair("", "Namespace", local.manifest.namespace)
        if namespace and local.values("spec", "clusterQueue")[state] in names:
            found.add(tenant_of(namespace, state))
    return sorted(found - {""})


@impact("IMP231", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, dominantResourceShare")
def fair_share_grows(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing grows.

    The queue gets more of the idle quota of its cohort, and the other queues get less. Workloads that they run with
    borrowed quota can be preempted, if the queue may reclaim quota.
    """
    for weight in _weight_changes(change):
        if weight.after > weight.before:
            message = (
                f"weight in fair sharing grows from {weight.before} to {weight.after}: other queues get less idle quota"
            )
            yield Raised(weight.subject, message, weight.pair.after, ("spec", "fairSharing", "weight"))


@impact("IMP230", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, dominantResourceShare")
def fair_share_shrinks(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing falls.

    The queue gets less of the idle quota of its cohort. Queues with a smaller share can preempt workloads that the
    queue runs with borrowed quota.
    """
    for weight in _weight_changes(change):
        if weight.after < weight.before:
            message = f"weight in fair sharing falls from {weight.before} to {weight.after}: it gets less idle quota"
            details = (
                "other queues that may reclaim quota can preempt workloads that run with borrowed quota and are above "
                "the new share",
            )
            yield Raised(weight.subject, message, weight.pair.after, ("spec", "fairSharing", "weight"), details)


@impact("IMP226", Level.DISRUPTS, source="kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go")
def preemption_widens(change: Change) -> Impacts:
    """Kueue may preempt more running workloads for workloads of a queue.

    A preempted workload is evicted: its pods end, and it waits in its queue again. Workloads that wait already can
    preempt as soon as the change is applied.
    """
    yield from _preemption_changes(change, wider=True)


@impact("IMP227", Level.RESTRICTS, source="kueue v0.19.2 pkg/scheduler/preemption/classical/hierarchical_preemption.go")
def preemption_narrows(change: Change) -> Impacts:
    """Kueue may preempt fewer running workloads for workloads of a queue.

    Workloads of the queue wait longer, until running workloads end.
    """
    yield from _preemption_changes(change, wider=False)


@impact("IMP229", Level.NONE, source="kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, QueueingStrategy")
def best_effort_order(change: Change) -> Impacts:
    """A queue admits later workloads while an earlier one waits for quota.

    A large workload can wait long, because small workloads use the quota that becomes free.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = pair.values("spec", "queueingStrategy")
        if pair.is_changed and before == "StrictFIFO" != after:
            message = "later workloads are admitted while an earlier one waits; large workloads can wait longer"
            yield Raised(f"queue {queue_name(pair)}", message, pair.after, ("spec", "queueingStrategy"))


@impact("IMP228", Level.RESTRICTS, source="kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, QueueingStrategy")
def strict_order(change: Change) -> Impacts:
    """A queue admits its workloads in strict order.

    The first workload that waits for quota blocks all later workloads of the queue, also those that would fit.
    """
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = pair.values("spec", "queueingStrategy")
        if pair.is_changed and after == "StrictFIFO" != before:
            message = "a workload that waits for quota blocks all later workloads, also those that would fit"
            yield Raised(f"queue {queue_name(pair)}", message, pair.after, ("spec", "queueingStrategy"))


@impact("IMP237", Level.DISRUPTS, source="kueue v0.19.2 pkg/controller/core/workloadpriorityclass_controller.go")
def priority_order_changes(change: Change) -> Impacts:
    """A priority class gets a value with which workloads are ordered in another way.

    Kueue writes the new value into all Workloads of the class, also those that wait or run. Workloads that wait can
    then preempt running workloads that had the same or a higher priority before.
    """
    kept = list(change.kept(GROUP, "WorkloadPriorityClass"))
    for pair in kept:
        before, after = pair.values("value")
        if not _is_number(before) or not _is_number(after) or before == after:
            continue
        raised = [*_passed(pair, kept), *_without_class(before, after)]
        message = f"the priority of its workloads, also of those that run, changes from {before} to {after}"
        if raised:
            order = f"it is {'now above' if after > before else 'no longer above'} {', '.join(raised)}"
            yield Raised(f"priority {pair.name}", f"{message}; {order}", pair.after, ("value",))


def _passed(pair: Pair, pairs: list[Pair]) -> list[str]:
    """Returns the other classes to which the order of a class changes."""
    before, after = pair.values("value")
    found = []
    for other in pairs:
        old, new = other.values("value")
        if other is not pair and _is_number(old) and _is_number(new) and (before > old) != (after > new):
            found.append(other.name)
    return found


def _without_class(before: int, after: int) -> list[str]:
    """Returns the workloads without a priority class, if the order to their priority 0 changes."""
    return ["workloads without a priority class"] if (before > 0) != (after > 0) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int)


@impact(
    "IMP238", Level.RESTRICTS, source="kueue v0.19.2 pkg/controller/jobframework/reconciler.go, PrepareWorkloadPriority"
)
def priority_removed(change: Change) -> Impacts:
    """A priority class is removed.

    Workloads of the class keep their priority. A new job that names the class stays suspended, because Kueue cannot
    create its Workload, or the policy queue-required refuses the job.
    """
    for pair in change.pairs(GROUP, "WorkloadPriorityClass"):
        if pair.is_removed:
            message = "is removed: new jobs that name it are refused or stay suspended; running workloads keep it"
            yield Raised(f"priority {pair.name}", message, pair.before)


_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
"""The policies of Kueue; the first one preempts nothing.

Source: kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, PreemptionPolicy and BorrowWithinCohortPolicy
"""


_WORDS = {
    "Never": "never",
    "LowerPriority": "lower-priority",
    "LowerOrNewerEqualPriority": "lower-or-newer",
    "Any": "any",
}


_PREEMPTION: dict[str, tuple[Path, str]] = {
    "withinQueue": (("withinClusterQueue",), "workloads{} of the queue"),
    "reclaim": (("reclaimWithinCohort",), "workloads{} of other queues that use quota of the queue"),
    "borrowing": (("borrowWithinCohort", "policy"), "workloads{} of other queues while the queue borrows"),
}


_WHICH = {
    "LowerPriority": " with lower priority",
    "LowerOrNewerEqualPriority": " with lower priority, or newer ones with the same priority,",
}


def _preemption_changes(change: Change, *, wider: bool) -> Iterator[Raised]:
    """Yields an impact for each policy of a ClusterQueue with which Kueue may preempt more workloads, or fewer."""
    for pair in change.kept(GROUP, "ClusterQueue"):
        for key, (place, which) in _PREEMPTION.items():
            path: Path = ("spec", "preemption", *place)
            before, after = (str(value or "Never") for value in pair.values(*path))
            if before == after or not {before, after} <= set(_POLICIES):
                continue
            text = f"preempt.{key} changes from {_WORDS[before]} to {_WORDS[after]}"
            effect = f"Kueue preempts {'no ' if after == 'Never' else ''}{which.format(_WHICH.get(after, ''))}"
            if (_POLICIES.index(after) > _POLICIES.index(before)) == wider:
                yield Raised(f"queue {queue_name(pair)}", f"{text}: {effect}", pair.after, path)


_WEIGHT = Fraction(1)
"""The weight of a queue or cohort without a weight.

Source: kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, parseFairWeight
"""


class _WeightChange(NamedTuple):
    """Another weight of a queue or cohort."""

    pair: Pair
    subject: str
    before: float
    after: float


def _weight_changes(change: Change) -> Iterator[_WeightChange]:
    """Yields each weight that differs. A change of fair sharing is left out.

    The weight of a ClusterQueue has an effect only in a cohort, and the weight of a cohort only below a parent.
    """
    if any(len(set(map(bool, found.values("fairSharing")))) == 2 for found in configuration_changes(change)):
        return
    for kind in ("ClusterQueue", "Cohort"):
        for pair in change.kept(GROUP, kind):
            weights = pair.values("spec", "fairSharing", "weight")
            before, after = (_WEIGHT if value is None else quantity(value) for value in weights)
            subject = f"queue {queue_name(pair)}" if kind == "ClusterQueue" else f"cohort {pair.name}"
            if all(parents(pair)) and before is not None and after is not None and before != after:
                yield _WeightChange(pair, subject, *(_number(float(value)) for value in (before, after)))


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
