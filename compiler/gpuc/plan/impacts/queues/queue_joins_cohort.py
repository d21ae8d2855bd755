from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import parent_path, parents, queue_name, quota_changes


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
