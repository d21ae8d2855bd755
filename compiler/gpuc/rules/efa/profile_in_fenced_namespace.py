from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN008", source="Kubernetes Pod Security Standards, capabilities")
def profile_in_fenced_namespace(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for EFA, but its Pod Security refuses EFA pods.

    They need the capability IPC_LOCK: the job starts and has no pods, which only an event explains.
    """
    for tenant in cluster.tenants:
        if all(namespace.spec.pod_security != "privileged" for namespace in tenant.namespaces):
            continue  # EFA007 tells it of the tenant
        for namespace in tenant.namespaces:
            if namespace.nccl and namespace.nccl.spec.fabric == "efa" and namespace.spec.pod_security != "privileged":
                level = namespace.spec.pod_security
                message = f"podSecurity is {level}, but {namespace.name} has profile {namespace.nccl.name} for EFA"
                yield (*namespace.path, "podSecurity"), message, "write privileged"
