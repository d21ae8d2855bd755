from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.rights import cloud_roles


@impact("IMP455", Level.NONE, source="Amazon EKS User Guide, EKS Pod Identity associations")
def cloud_role_gained(change: Change) -> Impacts:
    """A service account of a tenant gets an IAM role.

    The pods with this service account can use the role as soon as an administrator has created the association of EKS
    Pod Identity with the commands in clusters/CLUSTER/README.md. Argo CD does not create the association.
    """
    for one in cloud_roles(change):
        if one.after and not one.before:
            yield Raised(one.subject, f"gets IAM role {one.after}; create the association", one.manifest, one.path)
