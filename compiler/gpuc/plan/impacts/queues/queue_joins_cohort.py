from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text, parent_path, parents, queue_name, quota_changes


@impact("IMP213", Level.NONE, source="kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, updateClusterQueue")
def queue_joins_cohort(change: Change) -> Impacts:
    """A queue without a cohort joins a cohort.

    The queue can borrow idle quota of the cohort and lends its own idle quota, within its limits. Running workloads are
    not disturbed. Workloads above the nominal quota can be preempted from then on, if other queues may reclaim quota.
    """
    changes = quota_changes(change)
    seen = set()
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = parents(pair)
        if before or not after or pair.is_added or queue_name(pair) in seen:
            continue
        seen.add(queue_name(pair))
        details = tuple(
            f"queue {queue_name(one.pair)} can use {one.unit.instead(one.before.most, one.after.most)} on "
            f"{flavor_text(change, one.flavor)}"
            for one in changes
            if one.after.most > one.before.most
        )
        yield Raised(f"queue {queue_name(pair)}", f"joins cohort {after}", pair.after, parent_path(pair), details)
