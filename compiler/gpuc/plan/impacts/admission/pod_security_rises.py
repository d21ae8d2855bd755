from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.pod_security import level_changes


@impact("IMP307", Level.RESTRICTS, source="kubernetes.io/docs/concepts/security/pod-security-admission")
def pod_security_rises(change: Change) -> Impacts:
    """The Pod Security level that a namespace enforces rises.

    Running pods stay. The API server refuses new pods that violate the level, also those that a controller creates
    again. `gpuc plan --workloads DIR` names the workloads.
    """
    yield from level_changes(change, rises=True)
