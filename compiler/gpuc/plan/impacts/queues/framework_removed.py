from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.kueue_configuration import FRAMEWORKS, configuration_changes


@impact("IMP233", Level.DISRUPTS, source="kueue v0.19.2 pkg/controller/jobframework/setup.go and reconciler.go")
def framework_removed(change: Change) -> Impacts:
    """Kueue does not manage a kind of jobs any more.

    No controller starts jobs of the kind that wait. Jobs that run continue, and hold their quota until they are
    deleted, because no controller finishes their Workloads. New jobs start without quota, if no policy refuses them.
    """
    for found in configuration_changes(change):
        if removed := found.frameworks(added=False):
            message = f"Kueue does not manage {', '.join(removed)} any more: jobs that wait are never started"
            details = (
                "jobs that run continue, and their Workloads hold quota until the jobs are deleted",
                "new jobs of these kinds start at once and without quota, if no policy and no role refuses them",
            )
            yield found.raised(message, *FRAMEWORKS, details=details)
