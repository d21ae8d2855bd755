"""Impacts on the IAM roles of pods."""

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.model.names import IAM_ROLE
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact

_ROLE = ("metadata", "annotations", IAM_ROLE)


class _CloudRole(NamedTuple):
    """The IAM role of a service account before and after a change; empty without a role."""

    pair: Pair
    before: str
    after: str

    def raised(self, message: str) -> Raised:
        """Returns an impact at the annotation with the role."""
        return Raised(f"service account {self.pair.namespace}/{self.pair.name}", message, self.pair.manifest, _ROLE)


@impact("IMP455", Level.NONE, source="Amazon EKS API Reference, CreatePodIdentityAssociation")
def cloud_role_gained(change: Change) -> Impacts:
    """A service account of a tenant gets an IAM role.

    An administrator creates the association of EKS Pod Identity with the commands in clusters/CLUSTER/README.md. Argo
    CD does not. Pods of this service account that start after that can use the role; running pods have to be created
    again, because EKS adds the settings of the credentials to a pod when the pod is created.
    """
    for role in _cloud_roles(change):
        if not role.before:
            message = f"gets IAM role {role.after}; create the association, and create running pods again"
            yield role.raised(message)


@impact("IMP453", Level.RESTRICTS, source="Amazon EKS API Reference, DeletePodIdentityAssociation")
def cloud_role_changes(change: Change) -> Impacts:
    """A service account of a tenant loses its IAM role, or has another one.

    EKS Pod Identity knows the role by an association, which an administrator changes with the commands in
    clusters/CLUSTER/README.md. Argo CD does not. Running pods keep their credentials until these expire.
    """
    for role in _cloud_roles(change):
        if role.before and role.after:
            yield role.raised(f"has IAM role {role.after} instead of {role.before}; update the association")
        elif role.before:
            yield role.raised(f"loses IAM role {role.before}; delete the association")


def _cloud_roles(change: Change) -> Iterator[_CloudRole]:
    """Yields the service accounts whose IAM role changes."""
    for pair in change.pairs("", "ServiceAccount"):
        before, after = (str(value or "") for value in pair.values(*_ROLE))
        if before != after:
            yield _CloudRole(pair, before, after)
