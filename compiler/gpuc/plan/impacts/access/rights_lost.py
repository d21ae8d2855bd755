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
    for one in lost(change):
        new, old = ", ".join(one.roles_after), ", ".join(one.roles_before)
        if not one.roles_after:
            action = f"loses role {old} in {one.where}"
        elif new != old:
            action = f"has role {new} instead of {old} in {one.where}"
        else:
            action = f"can do less with role {new} in {one.where}"
        message = f"{action}; lost rights: {rights_text(one.rights)}"
        refused = one.namespaces if one.subject.startswith("group ") and _WORK & one.rights else ()
        outcome = "refused" if one.rights >= _WORK else "perhaps refused"
        predicts = (Prediction(f"workloads of namespace {name}", outcome) for name in refused if name != EVERYWHERE)
        yield Raised(one.subject, message, one.binding, one.path, predicts=tuple(predicts))
