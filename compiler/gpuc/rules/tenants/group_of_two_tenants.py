from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.model.tenant import Tenant
from gpuc.rules import Findings, rule


@rule("RBA010", Severity.WARNING, source="Kubernetes documentation, RBAC good practices")
def group_of_two_tenants(cluster: Cluster) -> Findings:
    """Several tenants have the same group as a member.

    Users in the group can move data between the tenants, although the network of the tenants is isolated.
    """
    for tenant in cluster.tenants:
        for members in tenant.members:
            for index, group in enumerate(members.spec.groups):
                others = [other for other in cluster.tenants if other is not tenant and group in other.groups]
                if others:
                    names = ", ".join(f"tenant {other.name}" for other in others)
                    message = f"group {group} is a member of tenant {tenant.name} and of {names}; expected one tenant"
                    related = [place for other in others for place in _members(other, group)]
                    yield (*members.path, "groups", index), message, "", related


def _members(tenant: Tenant, group: str) -> list[Related]:
    return [
        Related(f"member of tenant {tenant.name}", (*members.path, "groups", members.spec.groups.index(group)))
        for members in tenant.members
        if group in members.spec.groups
    ]
