from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster, Tenant
from gpuc.model.tenant import ROLES, Members
from gpuc.rules import Findings, rule


@rule("RBA011", Severity.WARNING, source="Kubernetes documentation, Using RBAC Authorization: permissions are additive")
def role_without_effect(cluster: Cluster) -> Findings:
    """A group has two roles in one namespace.

    Permissions are added: the group has the wider role, and the other role has no effect. Probably the group was to
    have fewer rights in the namespace. A role for all namespaces together with a wider role for some of them is no
    mistake.
    """
    for tenant in cluster.tenants:
        for members in tenant.members:
            for index, group in enumerate(members.spec.groups):
                others = [_other_role(tenant, members, group, namespace) for namespace in members.namespaces]
                if any(others) and (members.spec.namespaces or all(others)):
                    found = {name: role for name, role in zip(members.namespaces, others, strict=True) if role}
                    roles = ", ".join(f"role {role} in namespace {name}" for name, role in found.items())
                    message = f"role {members.spec.role} of group {group} has no effect, because the group has {roles}"
                    yield (*members.path, "groups", index), message


def _other_role(tenant: Tenant, members: Members, group: str, namespace: str) -> str:
    """Returns the wider role of a group in a namespace, or the same role in an earlier entry; empty without one."""
    rank, position = ROLES.index(members.spec.role), tenant.members.index(members)
    ranks = [
        ROLES.index(other.spec.role)
        for number, other in enumerate(tenant.members)
        if group in other.spec.groups
        and namespace in other.namespaces
        and (ROLES.index(other.spec.role), -number) > (rank, -position)
    ]
    return ROLES[max(ranks)] if ranks else ""
