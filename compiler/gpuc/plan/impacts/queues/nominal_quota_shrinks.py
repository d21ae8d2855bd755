from collections.abc import Iterator
from math import ceil

from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, impact
from gpuc.plan.queue_usage import Use, named, total_use, uses
from gpuc.plan.quota_changes import QuotaChange, cohort_of, loses, queue_name, quota_changes


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
            predicts = (Prediction(f"workloads of queue {quota.queue}", outcome),) if outcome else ()
            message = f"nominal quota on {quota.place} shrinks {span}"
            yield quota.raised(message, "nominalQuota", details, predicts)


def _outcome(change: Change, quota: QuotaChange) -> str:
    """Returns what happens to the same workloads of a full queue that start again, while other queues are full too.

    They wait if they are more than the queue can have with borrowed quota. If the quotas of all queues together shrink,
    workloads of at least one queue wait. Otherwise another queue has gained the quota, which the queue borrows.
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
        queue_name(pairs[node.name])
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
