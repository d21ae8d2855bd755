from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.rights import cloud_roles


@impact("IMP453", Level.RESTRICTS, source="Amazon EKS API Reference, DeletePodIdentityAssociation")
def cloud_role_changes(change: Change) -> Impacts:
    """A service account of a tenant loses its IAM role, or has another one.

    EKS Pod Identity knows the role by an association, which an administrator changes with the commands in
    clusters/CLUSTER/README.md. Argo CD does not. Running pods keep their credentials until these expire.
    """
    for before, after, raised in cloud_roles(change):
        if before and after:
            yield raised._replace(message=f"has IAM role {after} instead of {before}; update the association")
        elif before:
            yield raised._replace(message=f"loses IAM role {before}; delete the association")
