"""Rules about tenants with isolation dedicated, and about node pools that only such a tenant may use."""

from itertools import chain

from gpuc.diagnostics.finding import Path, Related
from gpuc.diagnostics.words import kind_of
from gpuc.model import Cluster, Pool, Tenant
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues.places import namespace_quotas, queue_quotas


@rule("TEN103")
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """Another tenant has quota for a node pool that is dedicated to a tenant."""
    for tenant in cluster.tenants:
        if tenant.spec.isolation == "dedicated":
            yield from _general_pools(cluster, tenant)
            own = {pool.name for pool in tenant.pools if pool.is_gpu}
            for quota in chain(queue_quotas(cluster), namespace_quotas(cluster)):
                if quota.pool.name in own and tenant.name not in quota.tenants:
                    owner, pool = f"{quota.kind} {quota.owner}", quota.pool.name
                    of_tenant = f" of tenant {quota.tenants[0]}" if quota.kind == "namespace" else ""
                    actual = f"{owner}{of_tenant} has quota for node pool {pool}"
                    message = f"{actual}, which is dedicated to tenant {tenant.name}"
                    yield Found(quota.place, message, f"remove {pool} from quota of {owner}", [_dedicated(tenant)])


def _general_pools(cluster: Cluster, tenant: Tenant) -> Findings:
    """Yields one finding for each pool without GPUs that is not shared, at the quota of the dedicated tenant."""
    for pool in tenant.pools:
        others = [other for other in cluster.tenants_of(pool) if other is not tenant]
        if others and not (pool.is_gpu or pool.spec.shared):
            names = kind_of([other.name for other in others], "tenant")
            actual = f"tenant {tenant.name} is dedicated, but its node pool {pool.name} is also for {names}"
            message = f"{actual}; expected a node pool with shared: true, or a node pool of its own"
            fix = f"set pools.{pool.name}.shared to true, or remove {pool.name} from the quota of tenant {tenant.name}"
            related = [Related(f"quota of tenant {other.name}", _first_quota(cluster, other, pool)) for other in others]
            yield Found(_first_quota(cluster, tenant, pool), message, fix, [_dedicated(tenant), *related])


def _first_quota(cluster: Cluster, tenant: Tenant, pool: Pool) -> Path:
    """Returns the path of the first quota of a tenant for a pool."""
    all_quotas = chain(queue_quotas(cluster), namespace_quotas(cluster))
    return next(quota.place for quota in all_quotas if quota.pool is pool and tenant.name in quota.tenants)


def _dedicated(tenant: Tenant) -> Related:
    return Related(f"tenant {tenant.name} is dedicated", (*tenant.path, "isolation"))


@rule("TEN104")
def queue_of_dedicated_tenant(cluster: Cluster) -> Findings:
    """A dedicated tenant shares a queue with other tenants."""
    dedicated = {tenant.name for tenant in cluster.tenants if tenant.spec.isolation == "dedicated"}
    for queue in cluster.queues:
        for index, name in enumerate(queue.tenant_names):
            others = [other for other in queue.tenant_names if other != name]
            if name in dedicated and others:
                names = ", ".join(f"tenant {other}" for other in dict.fromkeys(others))
                message = f"tenant {name} is dedicated, but shares queue {queue.name} with {names}"
                related = [Related(f"tenant {name} is dedicated", ("spec", "tenants", name, "isolation"))]
                fix = f"move tenant {name} to a separate queue"
                yield Found((*queue.path, "tenants", index), message, fix, related)
