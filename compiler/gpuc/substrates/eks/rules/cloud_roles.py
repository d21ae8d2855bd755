"""Rules about the IAM roles of ServiceAccounts."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule
from gpuc.substrates.eks.scaling import aws

PARTITIONS = {"cn": "aws-cn", "us-gov": "aws-us-gov"}
"""Partitions of AWS by the begin of the names of their regions. All other regions are in the partition aws."""


@rule("TEN110", Severity.WARNING)
def role_of_two_tenants(cluster: Cluster) -> Findings:
    """ServiceAccounts of several tenants have the same IAM role."""
    roles = list(_roles(cluster))
    for tenant, _, role, path in roles:
        same = [(other.name, place) for other, _, name, place in roles if other is not tenant and name == role]
        if same:
            owners = f"tenant {tenant.name} and tenant {', tenant '.join(dict(same))}"
            message = f"IAM role {role} is a role of ServiceAccounts of {owners}"
            yield Found(path, message, related=[Related(f"a role of tenant {other}", place) for other, place in same])


@rule("TEN111")
def role_of_other_partition(cluster: Cluster) -> Findings:
    """The IAM role of a ServiceAccount is in another partition of AWS than the cluster."""
    region = aws(cluster).region
    expected = next((value for key, value in PARTITIONS.items() if region.startswith(f"{key}-")), "aws")
    for _, name, role, path in _roles(cluster):
        actual = role.split(":")[1]
        if actual != expected:
            message = f"role of ServiceAccount {name} is in partition {actual}; expected {expected} for {region}"
            yield Found(path, message)


@rule("TEN112")
def roles_of_several_accounts(cluster: Cluster) -> Findings:
    """The IAM roles of ServiceAccounts are in different AWS accounts."""
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
