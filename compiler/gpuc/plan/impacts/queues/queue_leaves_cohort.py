from collections.abc import Iterable, Iterator

from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import QuotaChange, loses, parent_path, parents, queue_name, quota_changes


@impact("IMP212", Level.RESTRICTS, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateClusterQueue")
def queue_leaves_cohort(change: Change) -> Impacts:
    """A queue leaves its cohort, or moves to another cohort.

    Workloads that run with borrowed quota continue, in both directions, and no queue can reclaim this quota any
    more. Until they end, the queues together use more than their quota, so that pods of new workloads can wait for
    nodes.
    """
    changes = quota_changes(change)
    seen = set(_renamed(change, changes))
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if not before or before == after or pair.is_removed or queue_name(pair) in seen:
            continue
        seen.add(queue_name(pair))
        message = f"moves from cohort {before} to cohort {after}" if after else f"leaves cohort {before}"
        own = [one for one in changes if queue_name(one.pair) == queue_name(pair)]
        of_cohort = [one for one in changes if one not in own and parents(one.pair)[0] == before]
        others = [one for one in of_cohort if _same_limits(one)]
        details = (
            f"from then on, workloads borrow from queues of cohort {after}" if after else "the queue borrows nothing",
            *loses(change, own),
            *loses(change, others),
            "no queue can reclaim quota that it has lent to the other side, until the workloads there end",
        )
        yield Raised(f"queue {queue_name(pair)}", message, pair.after, parent_path(pair), details)


def _renamed(change: Change, changes: Iterable[QuotaChange]) -> Iterator[str]:
    """Yields the queues of cohorts that only get another name: the same queues, which can use the same quota."""
    cohorts: dict[str, set[str]] = {}
    moved: dict[str, set[str]] = {}
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if before:
            cohorts.setdefault(before, set()).add(queue_name(pair))
            moved.setdefault(before, set()).add(after)
    losing = {queue_name(one.pair) for one in changes if one.after.most < one.before.most}
    for name, queues in cohorts.items():
        if len(moved[name]) == 1 and "" not in moved[name] and not queues & losing:
            yield from queues


def _same_limits(one: QuotaChange) -> bool:
    return (one.before.nominal, one.before.borrow) == (one.after.nominal, one.after.borrow)
