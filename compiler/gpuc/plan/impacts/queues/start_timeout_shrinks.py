from gpuc.kubernetes.duration import parse_duration
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.kueue_configuration import configuration_changes


@impact(
    "IMP235",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/controller/core/workload_controller.go",
)
def start_timeout_shrinks(change: Change) -> Impacts:
    """Kueue waits for a shorter time until all pods of a workload are ready.

    Kueue evicts workloads whose pods start for longer than the new time, as soon as Kueue has restarted. An eviction
    counts as a failed start.
    """
    path = "waitForPodsReady", "timeout"
    for found in configuration_changes(change):
        before, after = found.values(*path)
        if _seconds(after) < _seconds(before):
            message = f"workloads are evicted when their pods are not ready after {after} instead of {before}"
            details = ("the time also applies to workloads that have lost a pod, and to workloads that start now",)
            yield found.raised(message, *path, details=details)


def _seconds(value: object) -> int:
    """Returns the seconds of a duration; 0 for a value that is no duration."""
    try:
        return parse_duration(value) if isinstance(value, str) else 0
    except ValueError:
        return 0
