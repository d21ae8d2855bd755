from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.kueue_configuration import configuration_changes


@impact("IMP236", Level.RESTRICTS, source="kueue v0.19.2 pkg/controller/core/workload_controller.go")
def start_attempts_shrink(change: Change) -> Impacts:
    """Kueue tries fewer times to start a workload.

    After the last failed start, Kueue deactivates the workload. A deactivated workload waits until its owner sets
    spec.active of the Workload to true, or creates the job again.
    """
    path = "waitForPodsReady", "requeuingStrategy", "backoffLimitCount"
    for found in configuration_changes(change):
        before, after = found.values(*path)
        if isinstance(before, int) and isinstance(after, int) and after < before:
            message = f"Kueue deactivates a workload after {after + 1} instead of {before + 1} failed starts"
            yield found.raised(message, *path)
