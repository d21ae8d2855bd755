"""Impacts on cohorts, and on the order and preemption of workloads."""

from collections.abc import Iterable, Iterator

from gpuc.cluster.queue import GROUPS
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair, changed
from gpuc.plan.impact import Impacts, Level, Raised, impact, workloads_of
from gpuc.plan.pruning import is_left
from gpuc.plan.quota_changes import QuotaChange, loses, parent_path, parents, quota_changes, tree
from gpuc.plan.tenant_changes import tenant_of


@impact("IMP214", Level.RESTRICTS)
def cohort_moves(change: Change) -> Impacts:
    """A cohort gets another parent or no parent, or its quota shrinks."""
    for pair in change.pairs(GROUP, "Cohort"):
        before, after = parents(pair)
        if pair.before and pair.after and before != after:
            message = f"moves from parent {before} to parent {after}" if before else f"gets parent {after}"
            message = message if after else f"leaves parent {before}"
            yield pair.raised(message, parent_path(pair), loses(quota_changes(change)))
        elif pair.changes(*GROUPS) or (pair.is_removed and not is_left(change, pair.manifest)):
            less = loses(row for row in quota_changes(change) if any(
                node.name == pair.name for node in tree(change.before)[row.pair.name].to_root))  # fmt: skip
            if less:
                cause = "is removed" if pair.is_removed else "has another quota"
                yield pair.raised(f"{cause}: its queues can borrow less", () if pair.is_removed else GROUPS, less)


@impact("IMP213", Level.NONE)
def queue_joins_cohort(change: Change) -> Impacts:
    """A queue without a cohort joins a cohort."""
    details = [quota.most_text for quota in quota_changes(change) if quota.after.most > quota.before.most]
    for pair in change.kept(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if after and not before:
            yield pair.raised(f"joins cohort {after}", parent_path(pair), details)


@impact("IMP212", Level.RESTRICTS)
def queue_leaves_cohort(change: Change) -> Impacts:
    """A queue leaves its cohort, or moves to another cohort."""
    changes = quota_changes(change)
    renamed = set(_renamed(change, changes))
    for pair in change.kept(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if not before or before == after or pair.element in renamed:
            continue
        message = f"moves from cohort {before} to cohort {after}" if after else f"leaves cohort {before}"
        own = [quota for quota in changes if quota.queue == pair.element]
        of_cohort = [quota for quota in changes if quota not in own and parents(quota.pair)[0] == before]
        details = (
            f"from then on, workloads borrow from queues of cohort {after}" if after else "the queue borrows nothing",
            *loses(own),
            *loses(quota for quota in of_cohort if quota.before[:2] == quota.after[:2]),
            "no queue can reclaim quota that it has lent to the other side, until the workloads there end",
        )
        yield pair.raised(message, parent_path(pair), details)


def _renamed(change: Change, changes: Iterable[QuotaChange]) -> Iterator[str]:
    """Yields the queues of cohorts that only get another name. The queues and their quota stay the same."""
    losing = {quota.queue for quota in changes if quota.after.most < quota.before.most}
    cohorts = grouped(change.pairs(GROUP, "ClusterQueue"), lambda pair: parents(pair)[0])
    for name, pairs in cohorts.items():
        moved, names = {parents(pair)[1] for pair in pairs}, {pair.element for pair in pairs}
        if name and len(moved) == 1 and "" not in moved and not names & losing:
            yield from names


@impact("IMP244", Level.RESTRICTS)
def queue_is_shared(change: Change) -> Impacts:
    """A queue that a tenant already uses is shared with another tenant."""
    for name, pairs in grouped(change.kept(GROUP, "ClusterQueue"), lambda pair: pair.element).items():
        before, after = _tenants(change, pairs, 0), _tenants(change, pairs, 1)
        joining, staying = ([tenant for tenant in after if (tenant in before) == is_old] for is_old in (False, True))
        if not joining or not staying:
            continue
        olds, news = kind_of(staying, "tenant"), kind_of(joining, "tenant")
        message = f"{news} and {olds} share the quota: workloads of {olds} wait while those of {news} use it"
        policies = {pair.name: pair.values("spec", "preemption", "withinClusterQueue")[1] for pair in pairs}
        preempting = ", ".join(queue for queue, policy in policies.items() if policy not in (None, "Never"))
        evicted = f"workloads of {olds} in {preempting} can be evicted for workloads with a higher priority"
        predicts = workloads_of("queue", [name], "perhaps waiting")
        yield pairs[0].raised(message, ("spec", "namespaceSelector"), (evicted,) if preempting else (), predicts)


def _tenants(change: Change, queues: list[Pair], state: int) -> list[str]:
    """Returns the tenants with a LocalQueue of the queue before (0) or after (1) the change, sorted."""
    names = {pair.name for pair in queues}
    found = set()
    for local in change.pairs(GROUP, "LocalQueue"):
        namespace = change.pair("", "Namespace", local.namespace)
        if namespace and local.values("spec", "clusterQueue")[state] in names:
            found.add(tenant_of(namespace, state))
    return sorted(found - {""})


@impact("IMP226", Level.DISRUPTS)
def preemption_widens(change: Change) -> Impacts:
    """Kueue may preempt more running workloads for workloads of a queue."""
    yield from _preemption_changes(change, wider=True)


@impact("IMP227", Level.RESTRICTS)
def preemption_narrows(change: Change) -> Impacts:
    """Kueue may preempt fewer running workloads for workloads of a queue."""
    yield from _preemption_changes(change, wider=False)


@impact("IMP229", Level.NONE)
def best_effort_order(change: Change) -> Impacts:
    """A queue admits later workloads while an earlier one waits for quota."""
    for order in changed(change.pairs(GROUP, "ClusterQueue"), _ORDER):
        if order.before == _STRICT:
            yield order.raised(
                "later workloads are admitted while an earlier one waits; large workloads can wait longer"
            )


@impact("IMP228", Level.RESTRICTS)
def strict_order(change: Change) -> Impacts:
    """A queue admits its workloads in strict order: a workload that waits for quota blocks all later workloads."""
    for order in changed(change.pairs(GROUP, "ClusterQueue"), _ORDER):
        if order.after == _STRICT:
            yield order.raised("a workload that waits for quota blocks all later workloads, also those that would fit")


@impact("IMP237", Level.DISRUPTS)
def priority_order_changes(change: Change) -> Impacts:
    """The value of a priority class changes, so that its workloads are ordered before or after other workloads."""
    kept = list(change.kept(GROUP, "WorkloadPriorityClass"))
    values = {pair.name: pair.values("value") for pair in kept}
    values = {name: row for name, row in values.items() if all(isinstance(value, int) for value in row)}
    values["workloads without a priority class"] = (0, 0)
    for found in changed(kept, ("value",)):
        if found.pair.name not in values:
            continue
        _, _, before, after = found
        passed = [name for name, (old, new) in values.items()
                  if name != found.pair.name and (before > old) != (after > new)]  # fmt: skip
        if passed:
            order = f"it is {'now above' if after > before else 'no longer above'} {', '.join(passed)}"
            span = f"from {before} to {after}"
            yield found.raised(f"the priority of its workloads, also of those that run, changes {span}; {order}")


@impact("IMP238", Level.RESTRICTS)
def priority_removed(change: Change) -> Impacts:
    """A priority class is removed."""
    for pair in change.pairs(GROUP, "WorkloadPriorityClass"):
        if pair.is_removed:
            effect = "new jobs that name it are refused or stay suspended; running workloads keep it"
            yield pair.raised(f"is removed: {effect}")


_POLICIES = {
    "Never": ("never", ""),
    "LowerPriority": ("lower-priority", " with lower priority"),
    "LowerOrNewerEqualPriority": ("lower-or-newer", " with lower priority, or newer ones with the same priority,"),
    "Any": ("any", ""),
}
"""The policies of Kueue: the value in the spec, and which workloads Kueue preempts. The first one preempts nothing.

Source: kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, PreemptionPolicy and BorrowWithinCohortPolicy
"""
_PREEMPTION: dict[str, tuple[Path, str]] = {
    "withinQueue": (("withinClusterQueue",), "workloads{} of the queue"),
    "reclaim": (("reclaimWithinCohort",), "workloads{} of other queues that use quota of the queue"),
    "borrowing": (("borrowWithinCohort", "policy"), "workloads{} of other queues while the queue borrows"),
}


def _preemption_changes(change: Change, *, wider: bool) -> Iterator[Raised]:
    """Yields an impact for each policy of a ClusterQueue with which Kueue may preempt more workloads, or fewer."""
    ranks = list(_POLICIES)
    for key, (field, workloads) in _PREEMPTION.items():
        for found in changed(change.pairs(GROUP, "ClusterQueue"), ("spec", "preemption", *field), ranks[0]):
            before, after = str(found.before), str(found.after)
            if {before, after} <= _POLICIES.keys() and (ranks.index(after) > ranks.index(before)) == wider:
                (old, _), (new, which) = _POLICIES[before], _POLICIES[after]
                effect = f"Kueue preempts {'no ' if after == ranks[0] else ''}{workloads.format(which)}"
                yield found.raised(f"preempt.{key} changes from {old} to {new}: {effect}")
    for found in changed(change.pairs(GROUP, "ClusterQueue"), ("spec", "flavorFungibility", "whenCanPreempt"), _NEXT):
        if _NEXT in (found.before, found.after) and (found.before == _NEXT) == wider:
            effect = "before it tries" if wider else "only after it has tried"
            yield found.raised(f"whenCanPreempt becomes {found.after}: Kueue preempts on a flavor {effect} the others")


_ORDER, _STRICT, _NEXT = ("spec", "queueingStrategy"), "StrictFIFO", "TryNextFlavor"
