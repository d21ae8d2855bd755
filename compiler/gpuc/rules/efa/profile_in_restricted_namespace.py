from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN008", source="Kubernetes Pod Security Standards, capabilities")
def profile_in_restricted_namespace(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for EFA, but the namespace does not admit EFA pods.

    On AMIs other than AL2023, EFA pods need the capability IPC_LOCK, which only the Pod Security level privileged
    allows. The Job controller cannot create the pods, and only an event of the Job explains why.
    """
    for tenant in cluster.tenants if any(pool.needs_ipc_lock for pool in cluster.efa_pools) else ():
        if all(namespace.spec.pod_security != "privileged" for namespace in tenant.namespaces):
            continue  # EFA007 reports the tenant
        for namespace in tenant.namespaces:
            if namespace.nccl and namespace.nccl.spec.fabric == "efa" and namespace.spec.pod_security != "privileged":
                level = namespace.spec.pod_security
                profile = namespace.nccl.name
                message = (
                    f"namespace {namespace.name} has podSecurity {level}, but NCCL profile {profile} has fabric efa"
                )
                fix = f"set podSecurity of namespace {namespace.name} to privileged"
                yield (*namespace.path, "podSecurity"), message, fix
