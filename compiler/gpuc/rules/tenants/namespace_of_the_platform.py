from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule(
    "TEN102",
    source="kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go",
)
def namespace_of_the_platform(cluster: Cluster) -> Findings:
    """A tenant has a namespace of the platform.

    The quotas, queues and policies of the tenant would stop the controllers in this namespace, and members of the
    tenant could change the controllers.
    """
    moved = {settings.namespace: name for name, settings in cluster.spec.components.items() if settings.namespace}
    for tenant, namespace in cluster.namespaces:
        owner = f"namespace {namespace.name} of tenant {tenant.name}"
        if component := moved.get(namespace.name):
            related = [Related(f"the namespace in tenant {tenant.name}", namespace.path, on_key=True)]
            message = f"{owner} is the namespace of {component}"
            yield ("spec", "components", component, "namespace"), message, "", related
        elif namespace.name in cluster.platform_namespaces or namespace.name.startswith("kube-"):
            message = f"{owner} is a namespace of the platform"
            yield Found(namespace.path, message, f"rename {owner}", on_key=True)
