"""Dedicated tenants and node pools."""

from __future__ import annotations

from itertools import chain

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster, Pool, Tenant
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues.places import amount_path


@rule("TEN103", source="Kubernetes documentation, dedicated nodes; aws/amazon-vpc-cni-k8s README, network policy")
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """Other tenants have quota for a node pool of a dedicated tenant, and the node pool is not shared.

    The nodes of the node pool have the taint of the dedicated tenant. Kueue or the ResourceQuota would accept workloads
    of other tenants, but the pods of these workloads would stay pending. Without the taint, tenants would share nodes
    and the EFA network, to which NetworkPolicies do not apply. A node pool without GPUs can be shared: `shared: true`.
    """
    for tenant in cluster.tenants:
        if tenant.spec.isolation == "dedicated":
            yield from _general_pools(cluster, tenant)
            own = {pool.name for pool in tenant.pools if pool.is_gpu}
            yield from _queues(cluster, tenant, own)
            yield from _namespaces(cluster, tenant, own)


def _general_pools(cluster: Cluster, tenant: Tenant) -> Findings:
    """Yields one finding for each pool without GPUs that is not shared, at the quota of the dedicated tenant."""
    for pool in tenant.pools:
        others = [other for other in cluster.tenants_of(pool) if other is not tenant]
        if others and not (pool.is_gpu or pool.spec.shared):
            names = ", ".join(f"tenant {other.name}" for other in others)
            message = (
                f"node pool {pool.name} is used by dedicated tenant {tenant.name}, and by {names}; "
                "expected a shared node pool, or a separate node pool"
            )
            fix = f"set pools.{pool.name}.shared to true, or remove {pool.name} from the quota of tenant {tenant.name}"
            related = [Related(f"quota of tenant {other.name}", _own_quota(other, pool)) for other in others]
            yield Found(_own_quota(tenant, pool), message, fix, [_dedicated(tenant), *related])


def _own_quota(tenant: Tenant, pool: Pool) -> Path:
    """Returns the path of the first quota of a tenant for a pool."""
    queued = (
        amount_path(pool_quota.path, pool_quota.spec)
        for queue in tenant.queues
        for pool_quota in queue.pool_quotas
        if pool_quota.pool is pool
    )
    own = (
        amount_path(quota.path, quota.spec)
        for namespace in tenant.namespaces
        for quota in namespace.quotas
        if quota.pool is pool
    )
    return next(chain(queued, own))


def _queues(cluster: Cluster, tenant: Tenant, own: set[str]) -> Findings:
    for queue in cluster.queues:
        for pool_quota in queue.pool_quotas if tenant.name not in queue.tenant_names else ():
            pool = pool_quota.pool.name
            if pool in own:
                path = amount_path(pool_quota.path, pool_quota.spec)
                message = (
                    f"queue {queue.name} has quota for node pool {pool}, which is dedicated to tenant {tenant.name}"
                )
                yield Found(path, message, f"remove {pool} from quota of queue {queue.name}", [_dedicated(tenant)])


def _namespaces(cluster: Cluster, tenant: Tenant, own: set[str]) -> Findings:
    for other in cluster.tenants:
        for namespace in other.namespaces if other is not tenant else ():
            for quota in namespace.quotas:
                pool = quota.pool.name
                if pool in own:
                    actual = f"namespace {namespace.name} of tenant {other.name} has quota for node pool {pool}"
                    message = f"{actual}, which is dedicated to tenant {tenant.name}"
                    fix = f"remove {pool} from quota of namespace {namespace.name}"
                    yield Found(amount_path(quota.path, quota.spec), message, fix, [_dedicated(tenant)])


def _dedicated(tenant: Tenant) -> Related:
    return Related(f"tenant {tenant.name} is dedicated", (*tenant.path, "isolation"))


@rule("TEN104", source="Kubernetes documentation, taints and tolerations, dedicated nodes")
def queue_of_dedicated_tenant(cluster: Cluster) -> Findings:
    """A dedicated tenant shares a queue with other tenants.

    Pods of the other tenants would run on the nodes of the dedicated tenant.
    """
    dedicated = {tenant.name for tenant in cluster.tenants if tenant.spec.isolation == "dedicated"}
    for queue in cluster.queues:
        for index, name in enumerate(queue.tenant_names):
            others = [other for other in queue.tenant_names if other != name]
            if name in dedicated and others:
                names = ", ".join(f"tenant {other}" for other in dict.fromkeys(others))
                message = f"tenant {name} is dedicated, but shares queue {queue.name} with {names}"
                related = [Related(f"tenant {name} is dedicated", ("spec", "tenants", name, "isolation"))]
                yield Found(
                    (*queue.path, "tenants", index), message, f"move tenant {name} to a separate queue", related
                )


@rule("TEN115", Severity.WARNING)
def tags_without_dedicated_pool(cluster: Cluster) -> Findings:
    """A tenant has tags, but no node pool is dedicated to the tenant.

    No instance gets the tags. Pods of several tenants run on the nodes of other pools.
    """
    dedicated = {pool.dedicated_to for pool in cluster.pools}
    for tenant in cluster.tenants:
        if tenant.spec.tags and tenant.name not in dedicated:
            message = f"tags of tenant {tenant.name} have no effect: no node pool is dedicated to the tenant"
            yield Found((*tenant.path, "tags"), message, "move the tags to the node pools of the tenant")
