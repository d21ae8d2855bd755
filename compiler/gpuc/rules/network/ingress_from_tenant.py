from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET104", source="Kubernetes documentation, NetworkPolicy, namespaceSelector")
def ingress_from_tenant(cluster: Cluster) -> Findings:
    """Ingress allows the namespace of a tenant.

    Ingress is for namespaces of the platform. Ingress from another tenant ends the isolation of both; between
    namespaces of the same tenant all traffic is already allowed.
    """
    owners = {namespace.name: tenant.name for tenant in cluster.tenants for namespace in tenant.namespaces}
    for tenant in cluster.tenants:
        for index, entry in enumerate(tenant.spec.network.ingress):
            owner = owners.get(entry.namespace)
            if owner:
                path = (*tenant.path, "network", "ingress", index, "namespace")
                yield path, f"{entry.namespace} belongs to tenant {owner}; ingress is for namespaces of the platform"
