from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


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
