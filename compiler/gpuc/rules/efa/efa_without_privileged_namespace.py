from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA007", source="Kubernetes Pod Security Standards, capabilities")
def efa_without_privileged_namespace(cluster: Cluster) -> Findings:
    """A tenant uses a node pool with EFA, but no namespace of the tenant admits EFA pods.

    EFA pods need the capability IPC_LOCK, which the Pod Security levels baseline and restricted forbid. The Job
    controller cannot create the pods of the tenant's Jobs.
    """
    for tenant in cluster.tenants:
        pools = [pool.name for pool in tenant.pools if pool.has_efa]
        if pools and all(namespace.spec.pod_security != "privileged" for namespace in tenant.namespaces):
            first = tenant.namespaces[0]
            message = (
                f"tenant {tenant.name} uses node pools with EFA ({', '.join(pools)}), "
                "but no namespace of the tenant has podSecurity privileged"
            )
            yield (*first.path, "podSecurity"), message
