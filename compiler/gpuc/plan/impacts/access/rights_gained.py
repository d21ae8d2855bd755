from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.rights import gained, rights_text


@impact("IMP451", Level.NONE, source="kubernetes.io/docs/reference/access-authn-authz/rbac")
def rights_gained(change: Change) -> Impacts:
    """A group, a user, or a service account of a tenant gains rights.

    Nothing that runs is disturbed. The rights apply as soon as Argo CD has synced the bindings.
    """
    for rights in gained(change):
        message = f"{rights.action('gets', 'can do more')}; new rights: {rights_text(rights.rights)}"
        yield Raised(rights.subject, message, rights.binding, rights.path)
