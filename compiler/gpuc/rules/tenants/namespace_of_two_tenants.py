from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN101")
def namespace_of_two_tenants(cluster: Cluster) -> Findings:
    """Two tenants have the same namespace.

    A namespace belongs to one tenant. Otherwise the last applied tenant would determine the labels, the quota and the
    roles of the namespace.
    """
    owners: dict[str, str] = {}
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            owner = owners.setdefault(namespace.name, tenant.name)
            if owner != tenant.name:
                message = f"namespace {namespace.name} belongs to tenant {owner} and to tenant {tenant.name}"
                yield namespace.path, message, f"rename namespace {namespace.name} of tenant {tenant.name}"
