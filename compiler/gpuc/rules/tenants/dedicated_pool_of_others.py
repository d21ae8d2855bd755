from __future__ import annotations

from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path


@rule(
    "TEN103",
    source="Kubernetes documentation, dedicated nodes; aws/amazon-vpc-cni-k8s README, network policy",
)
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """A queue or namespace of other tenants has quota for the node pool of a dedicated tenant.

    The nodes of the node pool have the taint of the dedicated tenant. Kueue or the ResourceQuota would accept workloads
    of other tenants, but the pods of these workloads would stay pending. Without the taint, tenants would share nodes
    and the EFA network, to which NetworkPolicies do not apply.
    """
    for tenant in cluster.tenants:
        if tenant.spec.isolation == "dedicated":
            own = {pool.name for pool in tenant.pools}
            yield from _queues(cluster, tenant, own)
            yield from _namespaces(cluster, tenant, own)


def _queues(cluster: Cluster, tenant: Tenant, own: set[str]) -> Findings:
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas if tenant.name not in queue.tenant_names else ():
            pool = pool_quota.pool.name
            if pool in own:
                path = amount_path(pool_quota.path, queue.spec.quota[pool])
                message = (
                    f"queue {queue.name} has quota for node pool {pool}, which is dedicated to tenant {tenant.name}"
                )
                yield path, message, f"remove {pool} from quota of queue {queue.name}"


def _namespaces(cluster: Cluster, tenant: Tenant, own: set[str]) -> Findings:
    for other in cluster.tenants:
        for namespace in other.namespaces if other is not tenant else ():
            for quota in namespace.quotas:
                pool = quota.pool.name
                if pool in own:
                    actual = f"namespace {namespace.name} of tenant {other.name} has quota for node pool {pool}"
                    message = f"{actual}, which is dedicated to tenant {tenant.name}"
                    fix = f"remove {pool} from quota of namespace {namespace.name}"
                    yield amount_path(quota.path, quota.spec), message, fix
