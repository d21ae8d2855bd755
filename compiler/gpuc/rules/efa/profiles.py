"""NCCL profiles, and the namespaces that use them."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


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
                yield Found((*namespace.path, "podSecurity"), message, fix)


@rule("EFA107", Severity.WARNING)
def profile_without_fabric(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for a fabric that no node pool of its quotas has.

    Pods get environment variables that are written for another network.
    """
    for _, namespace in cluster.namespaces:
        pools = [pool for queue in namespace.queues for pool in queue.pools]
        fabrics = {pool.spec.fabric for pool in (*pools, *(quota.pool for quota in namespace.quotas))}
        if namespace.nccl and namespace.nccl.spec.fabric not in fabrics:
            fabric = namespace.nccl.spec.fabric
            message = (
                f"namespace {namespace.name} has NCCL profile {namespace.nccl.name} for fabric {fabric}, "
                f"but no node pool in the quotas of the namespace has fabric {fabric}"
            )
            yield Found((*namespace.path, "nccl"), message)


@rule("EFA108", Severity.WARNING)
def unused_profile(cluster: Cluster) -> Findings:
    """No namespace uses an NCCL profile.

    No pod gets the environment variables of the profile.
    """
    used = {namespace.nccl.name for _, namespace in cluster.namespaces if namespace.nccl}
    for name in cluster.spec.nccl.profiles:
        if name not in used:
            yield Found(("spec", "nccl", "profiles", name, "fabric"), f"no namespace uses NCCL profile {name}")


@rule("EFA105", Severity.WARNING, source="NCCL user guide, NCCL_DEBUG")
def verbose_logs_in_production(cluster: Cluster) -> Findings:
    """NCCL writes verbose logs in production.

    Every rank of a job writes thousands of lines at startup. So many logs are expensive, and hide other messages.
    """
    if cluster.spec.environment != "prod":
        return
    for name, profile in cluster.spec.nccl.profiles.items():
        path = ("spec", "nccl", "profiles", name)
        if profile.debug in ("INFO", "TRACE"):
            yield Found(
                (*path, "debug"),
                f"debug of NCCL profile {name} is {profile.debug} in prod; expected WARN",
                f"set debug of NCCL profile {name} to WARN",
            )
        level = profile.env.get("NCCL_DEBUG", "").upper()
        if level in ("INFO", "TRACE"):
            message = f"NCCL_DEBUG of NCCL profile {name} is {level} in prod; expected WARN"
            yield Found((*path, "env", "NCCL_DEBUG"), message, f"set NCCL_DEBUG of NCCL profile {name} to WARN")
