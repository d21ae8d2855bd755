from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.model.tenant import Tenant
from gpuc.rules import Findings, Found, rule


@rule("TEN101")
def namespace_of_two_tenants(cluster: Cluster) -> Findings:
    """Two tenants have the same namespace.

    A namespace belongs to one tenant. Otherwise the last applied tenant would determine the labels, the quota and the
    roles of the namespace.
    """
    owners: dict[str, Tenant] = {}
    for tenant, namespace in cluster.namespaces:
        owner = owners.setdefault(namespace.name, tenant)
        if owner is not tenant:
            actual = f"namespace {namespace.name} belongs to tenant {owner.name} and to tenant {tenant.name}"
            path = (*owner.path, "namespaces", namespace.name)
            related = [Related(f"the namespace in tenant {owner.name}", path, on_key=True)]
            fix = f"rename namespace {namespace.name} of tenant {tenant.name}"
            yield Found(namespace.path, f"{actual}; expected one tenant", fix, related, on_key=True)
