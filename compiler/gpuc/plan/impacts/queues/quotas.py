"""Impacts on quotas of queues."""

from collections.abc import Iterator
from math import ceil

from gpuc.cluster.queue import Member
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact, workloads_of
from gpuc.plan.pool_sizes import pool_of
from gpuc.plan.queue_usage import Use, named, total_use, uses
from gpuc.plan.quota_changes import (
    QuotaChange,
    cohort_of,
    common_flavors,
    flavor_text,
    flavors,
    loses,
    pool_cause,
    queues,
    quota_changes,
    quota_text,
    tree,
)


@impact("IMP202", Level.NONE)
def nominal_quota_grows(change: Change) -> Impacts:
    """The nominal quota of a queue on a node pool grows."""
    for quota in quota_changes(change):
        if quota.after.nominal > quota.before.nominal:
            span = quota.unit.span(quota.before.nominal, quota.after.nominal)
            yield quota.raised(f"nominal quota on {quota.place} grows {span}", "nominalQuota")


@impact("IMP201", Level.RESTRICTS)
def nominal_quota_shrinks(change: Change) -> Impacts:
    """The nominal quota of a queue on a node pool shrinks."""
    found, changes = uses(change), quota_changes(change)
    for quota in changes:
        if quota.after.nominal < quota.before.nominal and not quota.stops:
            span = quota.unit.span(quota.before.nominal, quota.after.nominal)
            details = [
                _excess(quota),
                *_reclaiming(change, quota),
                *_largest(quota),
                *loses(changes, quota.flavor, quota.pair.name),
                *_known_use(quota, found),
            ]
            outcome = _outcome(change, quota)
            predicts = workloads_of("queue", [quota.queue] if outcome else [], outcome)
            message = f"nominal quota on {quota.place} shrinks {span}"
            yield quota.raised(message, "nominalQuota", details, predicts)


def _outcome(change: Change, quota: QuotaChange) -> str:
    """Returns what happens to the same workloads of a full queue if they start again while other queues are full too.

    If the workloads need more than the queue can have with borrowed quota, they wait. If the quotas of all queues
    together shrink, workloads of at least one queue wait. Otherwise another queue has gained the quota, and the queue
    borrows this quota.
    """
    if quota.after.most < quota.before.nominal:
        return "waiting"
    before, after = (
        sum(node.quotas[quota.key].nominal for node in cohort_of(state, quota.pair.name) if quota.key in node.quotas)
        for state in (change.before, change.after)
    )
    return "perhaps waiting" if after < before else ""


def _excess(quota: QuotaChange) -> str:
    """Returns what happens to a queue that uses more than the new quota."""
    more = quota.unit.text(quota.before.nominal - quota.after.nominal)
    if quota.after.most > quota.after.nominal:
        return f"if the queue uses all of its quota, {more} of it count as borrowed from then on; Kueue evicts nothing"
    uses_more = f"if the queue uses all of its quota, it uses {more} more than the new quota; Kueue evicts nothing"
    if not quota.after.most:
        return uses_more
    needs = "the pool" if quota.unit.name in ("", "nodes") else f"{quota.unit.name} of the pool"
    return f"{uses_more}, and admits no new workload that needs {needs} until the queue uses less than the new quota"


def _largest(quota: QuotaChange) -> Iterator[str]:
    if quota.after.most == 0:
        yield f"a workload that needs {quota.unit.name or quota.unit.resource} of the pool is never admitted any more"
    elif quota.after.most < quota.before.most:
        most, before = (quota.unit.text(limits.most) for limits in (quota.after, quota.before))
        yield f"a workload that needs more than {most} is never admitted any more; the limit was {before}"


def _reclaiming(change: Change, quota: QuotaChange) -> Iterator[str]:
    """Yields a sentence about the queues of the cohort that may preempt workloads above the nominal quota."""
    pairs = {pair.name: pair for pair in change.pairs(GROUP, "ClusterQueue")}
    others = [node for node in cohort_of(change.after, quota.pair.name) if node.name != quota.pair.name]
    names = [
        pairs[node.name].element
        for node in others
        if quota.key in node.quotas and node.quotas[quota.key].nominal and node.reclaims
    ]
    if names:
        own = "its" if len(names) == 1 else "their"
        yield f"{kind_of(names, 'queue')} can preempt workloads above the new quota, to use {own} own quota"


def _known_use(quota: QuotaChange, found: list[Use]) -> Iterator[str]:
    """Yields a sentence about the objects of --workloads that use the quota."""
    used = ceil(total_use(found, quota.pair.name, quota.key) / quota.unit.size)
    if used:
        users = [use.manifest for use in found if use.cluster_queue == quota.pair.name and use.usage.get(quota.key)]
        above = used - quota.after.nominal
        more = f", {quota.unit.text(above)} more than the new quota" if above > 0 else ""
        yield f"the objects of --workloads request {quota.unit.text(used)}{more}: {named(users)}"


@impact("IMP204", Level.NONE)
def borrowing_grows(change: Change) -> Impacts:
    """A queue may borrow more quota on a node pool."""
    for quota in quota_changes(change):
        if limit := quota.limit("borrow", grows=True):
            yield quota.raised(f"may borrow {limit}", "borrowingLimit")


@impact("IMP203", Level.RESTRICTS)
def borrowing_shrinks(change: Change) -> Impacts:
    """A queue may borrow less quota on a node pool."""
    for quota in quota_changes(change):
        if limit := quota.limit("borrow", grows=False):
            details = ("workloads that run with borrowed quota continue", *loses([quota]))
            yield quota.raised(f"may borrow {limit}", "borrowingLimit", details)


@impact("IMP206", Level.RESTRICTS)
def lending_grows(change: Change) -> Impacts:
    """A queue lends more of its idle quota on a node pool."""
    for quota in quota_changes(change):
        if limit := quota.limit("lend", grows=True):
            yield quota.raised(f"lends {limit} to its cohort; {_return_text(quota)}", "lendingLimit")


def _return_text(quota: QuotaChange) -> str:
    """Returns how the queue gets lent quota back."""
    policy = quota.pair.values("spec", "preemption", "reclaimWithinCohort")[1]
    if policy in (None, "Never"):
        return "the queue waits for lent quota until the workloads of the borrowers end"
    which = "with lower priority " if policy == "LowerPriority" else ""
    return f"the queue preempts workloads of the borrowers {which}when it needs the quota"


@impact("IMP205", Level.RESTRICTS)
def lending_shrinks(change: Change) -> Impacts:
    """A queue lends less of its idle quota on a node pool."""
    changes = quota_changes(change)
    for quota in changes:
        if limit := quota.limit("lend", grows=False):
            continuing = "workloads that run with lent quota continue until they end or are preempted"
            details = (*loses(changes, quota.flavor, quota.pair.name), continuing)
            yield quota.raised(f"lends {limit} to its cohort", "lendingLimit", details)


@impact("IMP210", Level.NONE)
def pool_joins_queue(change: Change) -> Impacts:
    """An existing queue gets quota on another node pool."""
    for pairs in queues(change).values():
        for pair in pairs if not all(pair.is_added for pair in pairs) else ():
            known = flavors(change.before, pair.name)
            for flavor, added in flavors(change.after, pair.name).items():
                if flavor not in known:
                    quota = quota_text(change.after, pair.name, flavor)
                    yield pair.raised(f"gets quota on {flavor_text(change, flavor)}: {quota}", added.path)


@impact("IMP209", Level.RESTRICTS)
def pool_leaves_queue(change: Change) -> Impacts:
    """A queue loses its quota on a node pool, but keeps its quota on other pools."""
    for pairs in queues(change).values():
        for pair in pairs if not all(pair.is_removed for pair in pairs) else ():
            kept = flavors(change.after, pair.name)
            for flavor, lost in flavors(change.before, pair.name).items():
                if flavor not in kept:
                    yield _lost_pool(change, pair, flavor, lost.path)


def _lost_pool(change: Change, pair: Pair, flavor: str, path: Path) -> Raised:
    elements = {pair.name: pair.element for pair in change.pairs(GROUP, "ClusterQueue")}
    partners = dict.fromkeys(
        elements[node.name]
        for node in cohort_of(change.after, pair.name)
        if node.name != pair.name
        and any(key[0] == flavor and quota.nominal and quota.lend != 0 for key, quota in node.quotas.items())
    )
    details = (
        "workloads that run on the pool continue; Kueue does not evict them",
        *(f"until they end, they use quota of queue {name}" for name in partners),
        "workloads that need the pool, for example because of a node selector, wait until they are changed",
    )
    message = f"loses its quota on {flavor_text(change, flavor)}: {quota_text(change.before, pair.name, flavor)}"
    raised = pair.raised(message, path, details, workloads_of("queue", (pair.element, *partners), "waiting"))
    return raised._replace(manifest=pair.before)


@impact("IMP211", Level.NONE)
def pool_order_changes(change: Change) -> Impacts:
    """A queue tries its node pools in another order."""
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = flavors(change.before, pair.name), flavors(change.after, pair.name)
        old = [name for name in before if name in after]
        new = [name for name in after if name in before]
        if old != new:
            message = f"new workloads try the node pools in the order {', '.join(after)} instead of {', '.join(before)}"
            raised, origin = pair.raised(message, ("spec", "resourceGroups")), pair.manifest.origin
            yield raised._replace(manifest=None, path=(*origin, "quota")) if origin else raised


@impact("IMP207", Level.DISRUPTS)
def pool_stops_admission(change: Change) -> Impacts:
    """Queues admit no new workloads to a node pool, because their quota on the pool is 0."""
    stops = [quota for quota in quota_changes(change) if quota.stops]
    for flavor, quotas in grouped(stops, lambda quota: quota.flavor).items():
        names = sorted({quota.queue for quota in quotas})
        verb = "admits" if len(names) == 1 else "admit"
        details = (
            "workloads that run on the pool continue, and Kueue does not preempt them",
            "other workloads get another pool of their queue, or wait if the queue has no other pool for them",
        )
        message, predicts = (
            f"{kind_of(names, 'queue')} {verb} no new workloads to it",
            workloads_of("queue", names, "waiting"),
        )
        raised = quotas[0].raised(message, "nominalQuota", details, predicts)._replace(subject=quotas[0].place)
        cause = pool_cause(change, flavor, "hold", "leaving")
        yield raised._replace(manifest=None, path=cause) if cause else raised


@impact("IMP208", Level.RESTRICTS)
def node_resources_shrink(change: Change) -> Impacts:
    """A node offers less of a resource to pods, so a quota in nodes contains less of this resource."""
    if not any(pair.is_changed for pair in change.pairs(GROUP, "ClusterQueue")):
        return
    nodes = tree(change.before), tree(change.after)
    counted = {(quota.pair.name, quota.flavor) for quota in quota_changes(change)}
    found: dict[str, list[tuple[Pair, list[Key]]]] = {}
    for pair, flavor in common_flavors(change):
        old, new = (states[pair.name].quotas for states in nodes)
        keys = [key for key in new if key[0] == flavor and key in old and new[key].nominal < old[key].nominal]
        is_open = any(quota.nominal for key, quota in new.items() if key[0] == flavor)
        if keys and is_open and (pair.name, flavor) not in counted:
            found.setdefault(flavor, []).append((pair, keys))
    for flavor, rows in found.items():
        pair, keys = rows[0]
        totals = [{name: states[pair.name].quotas[flavor, name].nominal for _, name in keys} for states in nodes]
        message = f"a node has less {' and '.join(_shrinking(change, flavor, *totals))} for workloads"
        details = ("the quotas in nodes stay the same", "pods that request a complete node do not fit any more")
        cause = pool_cause(change, flavor)
        manifest, path = (None, cause) if cause else (pair.after, (*nodes[1][pair.name].path(keys[0]), "nominalQuota"))
        waits = {pair.element: _waiting(nodes[1][pair.name], keys) for pair, keys in rows}
        predicts = tuple(Prediction(f"workloads of queue {name}", outcome) for name, outcome in waits.items())
        yield Raised(flavor_text(change, flavor), message, manifest, path, details, predicts)


def _waiting(queue: Member, keys: list[Key]) -> str:
    """Returns the outcome for the workloads of a full queue: other queues may lend what a node has less."""
    borrows = any(queue.capacity(key) > queue.quotas[key].nominal for key in keys)
    return "perhaps waiting" if borrows else "waiting"


def _shrinking(change: Change, flavor: str, old: dict[str, int], new: dict[str, int]) -> Iterator[str]:
    """Yields the resources that shrink, for one node; without a spec, for the quota of one queue."""
    pools = [pool_of(state.cluster, flavor) for state in (change.before, change.after)]
    for name in new:
        first, second = (
            pool.node.get(name, 0) if pool and all(pools) else totals[name]
            for pool, totals in zip(pools, (old, new), strict=True)
        )
        yield f"{name} ({rounded(name, second).split(' ')[0]} instead of {rounded(name, first).split(' ')[0]})"
