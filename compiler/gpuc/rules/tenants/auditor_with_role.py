from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("RBA013", Severity.WARNING, source="Kubernetes documentation, RBAC good practices")
def auditor_with_role(cluster: Cluster) -> Findings:
    """A group of auditors is also a member of a tenant.

    Permissions are added: the group can do more than read objects, and the members of the tenant can read the objects
    of all other tenants.
    """
    for index, group in enumerate(cluster.auditors):
        roles = {
            (
                *members.path,
                "groups",
                members.spec.groups.index(group),
            ): f"has role {members.spec.role} in tenant {tenant.name}"
            for tenant in cluster.tenants
            for members in tenant.members
            if group in members.spec.groups
        }
        if roles:
            message = f"group {group} of auditors {', and '.join(roles.values())}"
            related = [Related(role, path) for path, role in roles.items()]
            yield ("spec", "auditors", "groups", index), message, "", related
