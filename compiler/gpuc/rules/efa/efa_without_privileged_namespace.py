from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.rules import Findings, rule


@rule("EFA007", source="Kubernetes Pod Security Standards, capabilities")
def efa_without_privileged_namespace(cluster: Cluster) -> Findings:
    """A tenant uses a node pool with EFA, but its namespaces with quota for the pool do not admit EFA pods.

    On AMIs other than AL2023, EFA pods need the capability IPC_LOCK, which the Pod Security levels baseline and
    restricted forbid. The Job controller cannot create the pods of the tenant's Jobs.
    """
    for tenant in cluster.tenants:
        reported: set[Path] = set()
        for namespaces, pool in _uses(tenant):
            if pool.needs_ipc_lock and all(namespace.spec.pod_security != "privileged" for namespace in namespaces):
                path = (*namespaces[0].path, "podSecurity")
                if path not in reported:
                    reported.add(path)
                    names = ", ".join(namespace.name for namespace in namespaces)
                    actual = f"tenant {tenant.name} uses node pool {pool.name} with EFA in namespaces {names}"
                    yield path, f"{actual}, but none of these namespaces has podSecurity privileged"


def _uses(tenant: Tenant) -> list[tuple[list[Namespace], Pool]]:
    """Returns the namespaces that can use a pool, and the pool, for every quota of the tenant."""
    queued = [
        ([namespace for namespace in tenant.namespaces if queue in namespace.queues], pool)
        for queue in tenant.queues
        for pool in queue.pools
    ]
    own = [([namespace], quota.pool) for namespace in tenant.namespaces for quota in namespace.quotas]
    return [use for use in (*queued, *own) if use[0]]
