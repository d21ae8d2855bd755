from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.rights import cloud_roles


@impact("IMP455", Level.NONE, source="Amazon EKS API Reference, CreatePodIdentityAssociation")
def cloud_role_gained(change: Change) -> Impacts:
    """A service account of a tenant gets an IAM role.

    An administrator creates the association of EKS Pod Identity with the commands in clusters/CLUSTER/README.md. Argo
    CD does not. Pods of this service account that start after that can use the role; running pods have to be created
    again, because EKS adds the settings of the credentials to a pod when the pod is created.
    """
    for before, after, raised in cloud_roles(change):
        if after and not before:
            message = f"gets IAM role {after}; create the association, and create running pods again"
            yield raised._replace(message=message)
