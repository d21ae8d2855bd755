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
    cohorts = change.by_name(GROUP, "ClusterQueue", lambda pair: parents(pair)[0])
    for name, pairs in cohorts.items():
        moved, names = {parents(pair)[1] for pair in pairs}, {queue_name(pair) for pair in pairs}
        if name and len(moved) == 1 and "" not in moved and not names & losing:
            yield from names
