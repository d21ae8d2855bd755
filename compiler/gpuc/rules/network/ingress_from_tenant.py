from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET104", source="Kubernetes documentation, NetworkPolicy, namespaceSelector")
def ingress_from_tenant(cluster: Cluster) -> Findings:
    """The key network.ingress of a tenant lists a namespace of this tenant or of another tenant.

    The key is for namespaces of the platform. A namespace of another tenant ends the isolation between the two tenants.
    Namespaces of the same tenant do not need the key, because traffic between them is always allowed.
    """
    owners = {namespace.name: tenant for tenant in cluster.tenants for namespace in tenant.namespaces}
    for tenant in cluster.tenants:
        for index, ingress in enumerate(tenant.spec.network.ingress):
            owner = owners.get(ingress.namespace or "")
            if owner:
                path = (*tenant.path, "network", "ingress", index, "namespace")
                actual = f"ingress of tenant {tenant.name} allows namespace {ingress.namespace} of tenant {owner.name}"
                place = (*owner.path, "namespaces", ingress.namespace or "")
                related = [Related(f"the namespace in tenant {owner.name}", place, on_key=True)]
                yield path, f"{actual}; expected a namespace of the platform", "", related
