from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.rights import EVERYWHERE, Right, lost, rights_text

_WORK = {Right("create", "batch", "jobs"), Right("create", "apps", "deployments"), Right("create", "", "pods")}
"""Rights without which a group cannot start work."""


@impact("IMP452", Level.RESTRICTS, source="kubernetes.io/docs/reference/access-authn-authz/rbac")
def rights_lost(change: Change) -> Impacts:
    """A group, a user, or a service account of a tenant loses rights in a namespace that remains.

    The API server refuses their next requests. Running workloads continue, unless their service account loses rights.
    """
    for rights in lost(change):
        message = f"{rights.action('loses', 'can do less')}; lost rights: {rights_text(rights.rights)}"
        refused = rights.namespaces if rights.subject.startswith("group ") and _WORK & rights.rights else ()
        outcome = "refused" if rights.rights >= _WORK else "perhaps refused"
        predicts = (Prediction(f"workloads of namespace {name}", outcome) for name in refused if name != EVERYWHERE)
        yield Raised(rights.subject, message, rights.binding, rights.path, predicts=tuple(predicts))
