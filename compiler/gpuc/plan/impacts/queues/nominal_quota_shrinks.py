from collections.abc import Iterator
from math import ceil

from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.queue_usage import Use, named, total_use, uses
from gpuc.plan.quota_changes import QuotaChange, flavor_text, loses, queue_name, quota_changes, tree


@impact(
    "IMP201",
    Level.RESTRICTS,
    source="kueue v0.19.2 pkg/cache/scheduler/resource_node.go, available; "
    "pkg/scheduler/preemption/classical/hierarchical_preemption.go, collectCandidatesInSubtree",
)
def nominal_quota_shrinks(change: Change) -> Impacts:
    """The nominal quota of a queue on a node pool shrinks.

    Kueue evicts no workload because of a smaller quota. Running workloads above the new quota use borrowed quota, or,
    if the queue may not borrow, the queue admits nothing until they end. Queues of the same cohort can preempt
    workloads above the nominal quota, if they may reclaim their quota.
    """
    found, changes = uses(change), quota_changes(change)
    for one in changes:
        if one.after.nominal < one.before.nominal and not one.stops:
            message = f"nominal quota on {flavor_text(change, one.flavor)} shrinks {_span(one)}"
            details = [
                _excess(one),
                *_reclaiming(change, one),
                *_largest(one),
                *loses(change, changes, one.flavor, one.pair.name),
                *_known_use(one, found),
            ]
            name = queue_name(one.pair)
            outcome = _outcome(change, one)
            predicts = (Prediction(f"workloads of queue {name}", outcome),) if outcome else ()
            path = (*one.path, "nominalQuota")
            yield Raised(f"queue {name}", message, one.pair.after, path, tuple(details), predicts)


def _outcome(change: Change, one: QuotaChange) -> str:
    """Returns what happens to the same workloads of a full queue that start again, while other queues are full too.

    They wait if they are more than the queue can have with borrowed quota. If the quotas of all queues together shrink,
    workloads of at least one queue wait. Otherwise another queue has gained the quota, which the queue borrows.
    """
    if one.after.most < one.before.nominal:
        return "waiting"
    totals = []
    for state in (change.before, change.after):
        nodes = tree(state)
        root = list(nodes[one.pair.name].to_root)[-1]
        quotas = [node.quotas for node in nodes.values() if list(node.to_root)[-1] is root]
        totals.append(sum(rows[key].nominal for rows in quotas for key in rows if key == one.key))
    return "perhaps waiting" if totals[1] < totals[0] else ""


def _excess(one: QuotaChange) -> str:
    """Returns what happens to a queue that uses more than the new quota."""
    more = one.unit.text(one.before.nominal - one.after.nominal)
    if one.after.most > one.after.nominal:
        return f"if the queue uses all of its quota, {more} of it count as borrowed from then on; Kueue evicts nothing"
    uses_more = f"if the queue uses all of its quota, it uses {more} more than the new quota; Kueue evicts nothing"
    if not one.after.most:
        return uses_more
    needs = "the pool" if one.unit.name in ("", "nodes") else f"{one.unit.name} of the pool"
    return f"{uses_more}, and admits no new workload that needs {needs} until the queue uses less than the new quota"


def _span(one: QuotaChange) -> str:
    return one.unit.span(one.before.nominal, one.after.nominal)


def _largest(one: QuotaChange) -> Iterator[str]:
    if one.after.most == 0:
        yield f"a workload that needs {one.unit.name or one.unit.resource} of the pool is never admitted any more"
    elif one.after.most < one.before.most:
        yield (
            f"a workload that needs more than {one.unit.text(one.after.most)} is never admitted any more; the "
            f"limit was {one.unit.text(one.before.most)}"
        )


def _reclaiming(change: Change, one: QuotaChange) -> Iterator[str]:
    """Yields a sentence about the queues of the cohort that may preempt workloads above the nominal quota."""
    nodes = tree(change.after)
    root = list(nodes[one.pair.name].to_root)[-1]
    named_queues = {pair.name: queue_name(pair) for pair in change.pairs(GROUP, "ClusterQueue")}
    names = [
        named_queues.get(node.name, node.name)
        for node in nodes.values()
        if node.name != one.pair.name
        and list(node.to_root)[-1] is root
        and (quota := node.quotas.get(one.key)) is not None
        and quota.nominal
        and dig(node.manifest.body if node.manifest else None, "spec", "preemption", "reclaimWithinCohort")
        not in (None, "Never")
    ]
    if names:
        kind, own = ("queue", "its") if len(names) == 1 else ("queues", "their")
        yield f"{kind} {', '.join(names)} can preempt workloads above the new quota, to use {own} own quota"


def _known_use(one: QuotaChange, found: list[Use]) -> Iterator[str]:
    """Yields a sentence about the objects of --workloads that use the quota."""
    used = ceil(total_use(found, one.pair.name, one.key) / one.unit.size)
    if used:
        users = [use.manifest for use in found if use.cluster_queue == one.pair.name and use.usage.get(one.key)]
        above = used - one.after.nominal
        more = f", {one.unit.text(above)} more than the new quota" if above > 0 else ""
        yield f"the objects of --workloads request {one.unit.text(used)}{more}: {named(users)}"
