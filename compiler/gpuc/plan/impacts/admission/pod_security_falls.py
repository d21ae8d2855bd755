from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.pod_security import level_changes


@impact("IMP308", Level.NONE, source="kubernetes.io/docs/concepts/security/pod-security-admission")
def pod_security_falls(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces falls.

    Nothing that runs is disturbed. Pods of the namespace can get more privileges on their nodes.
    """
    for one in level_changes(change):
        if not one.rises:
            message = f"enforces Pod Security level {one.after} instead of {one.before}"
            yield Raised(f"namespace {one.pair.name}", message, one.pair.after, one.path)
