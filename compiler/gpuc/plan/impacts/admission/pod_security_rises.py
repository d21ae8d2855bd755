from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pod_security import level_changes


@impact("IMP307", Level.RESTRICTS, source="kubernetes.io/docs/concepts/security/pod-security-admission")
def pod_security_rises(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces rises.

    Running pods stay. The API server refuses new pods that violate the level, also those that a controller creates
    again. `gpuc plan --workloads DIR` names the workloads.
    """
    for one in level_changes(change):
        if one.rises:
            message = f"enforces Pod Security level {one.after} instead of {one.before}"
            yield Raised(f"namespace {one.pair.name}", message, one.pair.after, one.path)
