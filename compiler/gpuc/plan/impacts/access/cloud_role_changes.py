from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.rights import cloud_roles


@impact("IMP453", Level.RESTRICTS, source="Amazon EKS API Reference, DeletePodIdentityAssociation")
def cloud_role_changes(change: Change) -> Impacts:
    """A service account of a tenant loses its IAM role, or has another one.

    EKS Pod Identity knows the role by an association, which an administrator changes with the commands in
    clusters/CLUSTER/README.md. Argo CD does not. Running pods keep their credentials until these expire.
    """
    for one in cloud_roles(change):
        if one.before and one.after:
            message = f"has IAM role {one.after} instead of {one.before}; update the association"
            yield Raised(one.subject, message, one.manifest, one.path)
        elif one.before:
            message = f"loses IAM role {one.before}; delete the association"
            yield Raised(one.subject, message, one.manifest, one.path)
