from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "TEN102",
    source="kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go",
)
def namespace_of_the_platform(cluster: Cluster) -> Findings:
    """A tenant has a namespace of the platform.

    The quotas, queues and policies of the tenant would stop the controllers in this namespace, and members of the
    tenant could change the controllers.
    """
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            if namespace.name in cluster.platform_namespaces or namespace.name.startswith("kube-"):
                message = f"namespace {namespace.name} of tenant {tenant.name} is a namespace of the platform"
                yield (
                    (*namespace.path, "podSecurity"),
                    message,
                    f"rename namespace {namespace.name} of tenant {tenant.name}",
                )
