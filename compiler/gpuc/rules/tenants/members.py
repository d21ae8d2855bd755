"""The members of tenants, and auditors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule, tenant_rule


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
            yield Found(("spec", "auditors", "groups", index), message, related=related)


PREFIX = "system:"


@rule("RBA014", source="Kubernetes documentation, Using RBAC Authorization, referring to subjects: the prefix system:")
def group_of_kubernetes(cluster: Cluster) -> Findings:
    """A group of members or auditors has the prefix of Kubernetes' own groups.

    The group system:authenticated contains every user and every ServiceAccount of the cluster, and system:masters has
    all permissions. Identity providers of EKS cannot use the prefix.
    """
    lists = [
        ((*members.path, "groups"), members.spec.groups) for tenant in cluster.tenants for members in tenant.members
    ]
    for path, groups in (*lists, (("spec", "auditors", "groups"), cluster.auditors)):
        for index, group in enumerate(groups):
            if group.startswith(PREFIX):
                message = f"group {group} is a group of Kubernetes; expected a group of the identity provider"
                yield Found((*path, index), message)


Places = Mapping[str, Mapping[str, Sequence[tuple[Path, Manifest | None]]]]
"""Where a group or user becomes a member of a tenant, by group or user in words, then by tenant."""


@rule("RBA010", Severity.WARNING, source="Kubernetes documentation, RBAC good practices")
def group_of_two_tenants(cluster: Cluster) -> Findings:
    """Several tenants have the same group as a member.

    Users in the group can move data between the tenants, although the network of the tenants is isolated.
    """
    places: dict[str, dict[str, list[tuple[Path, Manifest | None]]]] = {}
    for tenant in cluster.tenants:
        for members in tenant.members:
            for index, group in enumerate(members.spec.groups):
                of_tenant = places.setdefault(f"group {group}", {}).setdefault(tenant.name, [])
                of_tenant.append(((*members.path, "groups", index), None))
    yield from members_of_several(places)


def members_of_several(places: Places) -> Iterator[Found]:
    """Yields a finding at each place of a group or user that is a member of several tenants."""
    for member, tenants in places.items():
        for tenant, own in tenants.items() if len(tenants) > 1 else ():
            others = {other: where for other, where in tenants.items() if other != tenant}
            names = ", ".join(f"tenant {other}" for other in others)
            message = f"{member} is a member of tenant {tenant} and of {names}; expected one tenant"
            related = [Related(f"member of tenant {other}", path) for other in others for path, _ in others[other]]
            for path, manifest in own:
                yield Found(path, message, "", related, manifest=manifest)


@tenant_rule("RBA012", Severity.INFO)
def namespace_without_editors(tenant: Tenant) -> Findings:
    """No group has the role edit or admin in a namespace of a tenant.

    No member can submit workloads in the namespace. Argo CD still creates the objects of the tenant in
    specs/<cluster>/manifests/ and the charts of the tenant.
    """
    closed = [
        namespace.name for namespace in tenant.namespaces if not {"edit", "admin"} & {*tenant.groups_by_role(namespace)}
    ]
    if closed and not tenant.spec.leaving:
        names = ("namespace " if len(closed) == 1 else "namespaces ") + ", ".join(closed)
        yield Found((*tenant.path, "members"), f"no group of tenant {tenant.name} has role edit or admin in {names}")
