"""The IAM roles of ServiceAccounts."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster, Tenant
from gpuc.model.tenant import ROLES, Members
from gpuc.rules import Findings, Found, rule, tenant_rule

PARTITIONS = {"cn": "aws-cn", "us-gov": "aws-us-gov"}
"""Partitions of AWS by the begin of the names of their regions. All other regions are in the partition aws."""


@rule("TEN110", Severity.WARNING, source="Amazon EKS Best Practices Guide, identity and access management")
def role_of_two_tenants(cluster: Cluster) -> Findings:
    """ServiceAccounts of several tenants have the same IAM role.

    Each of the tenants can read and change the data of the others in AWS, although their network is isolated.
    """
    roles = list(_roles(cluster))
    for tenant, _, role, path in roles:
        others = [
            (other.name, its_path) for other, _, its_role, its_path in roles if other is not tenant and its_role == role
        ]
        if others:
            owners = f"tenant {tenant.name} and tenant {', tenant '.join(dict(others))}"
            message = f"IAM role {role} is a role of ServiceAccounts of {owners}"
            yield Found(
                path, message, related=[Related(f"a role of tenant {other}", its_path) for other, its_path in others]
            )


@rule("TEN111", source="AWS General Reference, Amazon Resource Names: partitions")
def role_of_other_partition(cluster: Cluster) -> Findings:
    """The IAM role of a ServiceAccount is in another partition of AWS than the cluster.

    EKS refuses the association. Accounts and roles of one partition do not exist in another partition.
    """
    region = cluster.aws.region
    expected = next((value for key, value in PARTITIONS.items() if region.startswith(f"{key}-")), "aws")
    for _, name, role, path in _roles(cluster):
        actual = role.split(":")[1]
        if actual != expected:
            yield Found(
                path, f"role of ServiceAccount {name} is in partition {actual}; expected {expected} for {region}"
            )


@rule("TEN112", source="Amazon EKS API Reference, UpdatePodIdentityAssociation, targetRoleArn")
def roles_of_several_accounts(cluster: Cluster) -> Findings:
    """The IAM roles of ServiceAccounts are in different AWS accounts.

    EKS refuses the association of a role of another account than the account of the cluster. Pods assume a role of
    another account with a role of the account of the cluster.
    """
    first = ""
    for _, name, role, path in _roles(cluster):
        owner = role.split(":")[4]
        first = first or owner
        if owner != first:
            message = f"role of ServiceAccount {name} is in account {owner}, but other roles are in {first}"
            yield Found(path, f"{message}; expected the account of the cluster for all roles")


def _roles(cluster: Cluster) -> Iterator[tuple[Tenant, str, str, Path]]:
    """Yields the tenant, the ServiceAccount, the ARN and the path of every IAM role."""
    for tenant, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            yield tenant, name, account.role, (*namespace.path, "serviceAccounts", name, "role")


@tenant_rule(
    "RBA011", Severity.WARNING, source="Kubernetes documentation, Using RBAC Authorization: permissions are additive"
)
def role_without_effect(tenant: Tenant) -> Findings:
    """A group has two roles in one namespace.

    Permissions are added: the group has the wider role, and the other role has no effect. Probably the group was to
    have fewer rights in the namespace. A role for all namespaces together with a wider role for some of them is no
    mistake.
    """
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
