from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN008", source="Kubernetes Pod Security Standards, capabilities")
def profile_in_restricted_namespace(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for EFA, but its Pod Security level refuses EFA pods.

    EFA pods need the capability IPC_LOCK. The job starts and has no pods; only an event explains why.
    """
    for tenant in cluster.tenants:
        if all(namespace.spec.pod_security != "privileged" for namespace in tenant.namespaces):
            continue  # EFA007 reports the tenant
        for namespace in tenant.namespaces:
            if namespace.nccl and namespace.nccl.spec.fabric == "efa" and namespace.spec.pod_security != "privileged":
                level = namespace.spec.pod_security
                message = f"podSecurity is {level}, but NCCL profile {namespace.nccl.name} is for EFA"
                yield (*namespace.path, "podSecurity"), message, "write privileged"
