from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.pod_security import level_changes


@impact("IMP308", Level.NONE, source="kubernetes.io/docs/concepts/security/pod-security-admission")
def pod_security_falls(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces falls.

    Nothing that runs is disturbed. Pods of the namespace can get more privileges on their nodes.
    """
    yield from level_changes(change, rises=False)
