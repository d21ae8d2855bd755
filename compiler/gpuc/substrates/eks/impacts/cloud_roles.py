"""Impacts of a change on the IAM roles of ServiceAccounts."""

from collections.abc import Iterator

from gpuc.model.names import IAM_ROLE
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_ROLE = ("metadata", "annotations", IAM_ROLE)


@impact("IMP455", Level.NONE)
def cloud_role_gained(change: Change) -> Impacts:
    """A service account of a tenant gets an IAM role."""
    for before, after, raised in _cloud_roles(change):
        if not before:
            message = f"gets IAM role {after}; create the association, and create running pods again"
            yield raised._replace(message=message)


@impact("IMP453", Level.RESTRICTS)
def cloud_role_changes(change: Change) -> Impacts:
    """A service account of a tenant loses its IAM role, or gets another IAM role."""
    for before, after, raised in _cloud_roles(change):
        if before:
            instead = f"has IAM role {after} instead of {before}; update the association"
            yield raised._replace(message=instead if after else f"loses IAM role {before}; delete the association")


def _cloud_roles(change: Change) -> Iterator[tuple[str, str, Raised]]:
    """Yields the changed IAM roles of service accounts: the role before, the role after, and the impact.

    An empty text means no role.
    """
    for pair in change.pairs("", "ServiceAccount"):
        before, after = (str(value or "") for value in pair.values(*_ROLE))
        if before != after:
            yield before, after, Raised(f"service account {pair.namespace}/{pair.name}", "", pair.manifest, _ROLE)
