"""Rules about the members of tenants, and about auditors."""

from collections.abc import Iterator, Mapping, Sequence

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.tenant import ROLES, Members
from gpuc.rules import Findings, Found, rule, tenant_rule


@rule("RBA013", Severity.WARNING)
def auditor_with_role(cluster: Cluster) -> Findings:
    """A group of auditors is also a member of a tenant."""
    for index, group in enumerate(cluster.auditors):
        roles = {
            path: f"has role {members.spec.role} in tenant {tenant.name}"
            for tenant, members, member, path in _groups(cluster)
            if member == group
        }
        if roles:
            message = f"group {group} of auditors {', and '.join(roles.values())}"
            related = [Related(role, path) for path, role in roles.items()]
            yield Found(("spec", "auditors", "groups", index), message, related=related)


PREFIX = "system:"


@rule("RBA014")
def group_of_kubernetes(cluster: Cluster) -> Findings:
    """A group of members or auditors has the prefix of Kubernetes' own groups."""
    places: list[tuple[Path, str]] = [(path, group) for _, _, group, path in _groups(cluster)]
    places += [(("spec", "auditors", "groups", index), group) for index, group in enumerate(cluster.auditors)]
    for path, group in places:
        if group.startswith(PREFIX):
            yield Found(path, f"group {group} is a group of Kubernetes; expected a group of the identity provider")


Places = Mapping[str, Mapping[str, Sequence[tuple[Path, Manifest | None]]]]
"""Where a group or user becomes a member of a tenant, by group or user in words, then by tenant."""


@rule("RBA010", Severity.WARNING)
def group_of_two_tenants(cluster: Cluster) -> Findings:
    """The same group is a member of several tenants."""
    places: dict[str, dict[str, list[tuple[Path, Manifest | None]]]] = {}
    for tenant, _, group, path in _groups(cluster):
        places.setdefault(f"group {group}", {}).setdefault(tenant.name, []).append((path, None))
    yield from members_of_several(places)


def _groups(cluster: Cluster) -> Iterator[tuple[Tenant, Members, str, Path]]:
    """Yields every group of the members of a tenant, with its path in the spec."""
    for tenant in cluster.tenants:
        for members in tenant.members:
            for index, group in enumerate(members.spec.groups):
                yield tenant, members, group, (*members.path, "groups", index)


def members_of_several(places: Places) -> Iterator[Found]:
    """Yields a finding at each place that makes a member of one tenant also a member of another tenant."""
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
    """No group has the role edit or admin in a namespace of a tenant."""
    closed = [
        namespace.name for namespace in tenant.namespaces if not {"edit", "admin"} & {*tenant.groups_by_role(namespace)}
    ]
    if closed and not tenant.spec.leaving:
        names = ("namespace " if len(closed) == 1 else "namespaces ") + ", ".join(closed)
        yield Found((*tenant.path, "members"), f"no group of tenant {tenant.name} has role edit or admin in {names}")


@tenant_rule("RBA011", Severity.WARNING)
def role_without_effect(tenant: Tenant) -> Findings:
    """A role of a group has no effect: another entry gives the group the same or a wider role in the namespace."""
    for members in tenant.members:
        for index, group in enumerate(members.spec.groups):
            others = [_other_role(tenant, members, group, namespace) for namespace in members.namespaces]
            if any(others) and (members.spec.namespaces or all(others)):
                found = {name: role for name, role in zip(members.namespaces, others, strict=True) if role}
                roles = ", ".join(f"role {role} in namespace {name}" for name, role in found.items())
                message = f"role {members.spec.role} of group {group} has no effect, because the group has {roles}"
                yield Found((*members.path, "groups", index), message)


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
