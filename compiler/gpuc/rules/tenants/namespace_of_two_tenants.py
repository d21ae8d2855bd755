from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN101")
def namespace_of_two_tenants(cluster: Cluster) -> Findings:
    """Two tenants have the same namespace.

    A namespace has one owner. Its label, quota, roles and bill would come from the tenant that was applied last.
    """
    owners: dict[str, str] = {}
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            owner = owners.setdefault(namespace.name, tenant.name)
            if owner != tenant.name:
                yield (*namespace.path, "podSecurity"), f"namespace {namespace.name} already belongs to tenant {owner}"
