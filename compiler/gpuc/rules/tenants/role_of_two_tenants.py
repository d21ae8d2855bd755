from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN110", Severity.WARNING, source="Amazon EKS Best Practices Guide, identity and access management")
def role_of_two_tenants(cluster: Cluster) -> Findings:
    """ServiceAccounts of several tenants have the same IAM role.

    Each of the tenants can read and change the data of the others in AWS, although their network is isolated.
    """
    for tenant, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            others = [
                (other.name, (*its_namespace.path, "serviceAccounts", its_name, "role"))
                for other, its_namespace in cluster.namespaces
                for its_name, its_account in its_namespace.spec.service_accounts.items()
                if other is not tenant and its_account.role == account.role
            ]
            if others:
                owners = f"tenant {tenant.name} and tenant {', tenant '.join(dict(others))}"
                message = f"IAM role {account.role} is a role of ServiceAccounts of {owners}"
                related = [Related(f"a role of tenant {other}", path) for other, path in others]
                yield (*namespace.path, "serviceAccounts", name, "role"), message, "", related
