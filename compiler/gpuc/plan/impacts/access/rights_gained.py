from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.rights import gained, rights_text


@impact("IMP451", Level.NONE, source="kubernetes.io/docs/reference/access-authn-authz/rbac")
def rights_gained(change: Change) -> Impacts:
    """A group, a user, or a service account of a tenant gains rights.

    Nothing that runs is disturbed. The rights apply as soon as Argo CD has synced the bindings.
    """
    for one in gained(change):
        new, old = ", ".join(one.roles_after), ", ".join(one.roles_before)
        if not one.roles_before:
            action = f"gets role {new} in {one.where}"
        elif new != old:
            action = f"has role {new} instead of {old} in {one.where}"
        else:
            action = f"can do more with role {new} in {one.where}"
        message = f"{action}; new rights: {rights_text(one.rights)}"
        yield Raised(one.subject, message, one.binding, one.path)
