from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import loses, parent_path, parents, quota_changes


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
