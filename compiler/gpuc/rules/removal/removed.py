"""Rules about pools, queues and tenants of the spec with `leaving: true`, and about names in `removed`."""

from collections.abc import Sequence

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster, Pool, Queue, Tenant
from gpuc.rules import Findings, Found, queue_rule, rule, tenant_rule
from gpuc.spec.cluster import Removed


@queue_rule("REM102", Severity.WARNING)
def queue_with_leaving_pools(queue: Queue) -> Findings:
    """All node pools of a queue have `leaving: true`, but the queue does not."""
    if queue.spec.leaving:
        return
    for cluster_queue in queue.cluster_queues:
        if all(pool.spec.leaving for pool in cluster_queue.pools):
            owner, subject = f"queue {queue.name}", f"ClusterQueue {cluster_queue.name} has only node pools"
            yield _found(owner, queue.path, subject, cluster_queue.pools, f"add a node pool to {owner}")


@rule("REM103", Severity.WARNING)
def queue_with_leaving_tenants(cluster: Cluster) -> Findings:
    """All tenants of a queue have `leaving: true`, but the queue does not."""
    for queue in cluster.queues:
        tenants = [tenant for tenant in cluster.tenants if queue in tenant.queues]
        if not queue.spec.leaving and tenants and all(tenant.spec.leaving for tenant in tenants):
            owner = f"queue {queue.name}"
            yield _found(owner, queue.path, f"{owner} has only tenants", tenants, f"add a tenant to {owner}")


@tenant_rule("REM104", Severity.WARNING)
def tenant_with_leaving_queues(tenant: Tenant) -> Findings:
    """All queues of a tenant have `leaving: true`, but the tenant does not, and has no other quota."""
    has_quota = any(namespace.quotas for namespace in tenant.namespaces)
    is_checked = not tenant.spec.leaving and not has_quota and tenant.queues
    if is_checked and all(queue.spec.leaving for queue in tenant.queues):
        owner = f"tenant {tenant.name}"
        yield _found(owner, tenant.path, f"{owner} has only queues", tenant.queues, f"add {owner} to another queue")


@rule("REM105", Severity.WARNING)
def namespace_with_leaving_pools(cluster: Cluster) -> Findings:
    """A namespace has quota only for node pools with `leaving: true`, but the namespace itself is not leaving."""
    for tenant, namespace in cluster.namespaces:
        pools = [quota.pool for quota in namespace.quotas]
        is_leaving = namespace.spec.leaving or tenant.spec.leaving
        if pools and not namespace.queues and not is_leaving and all(pool.spec.leaving for pool in pools):
            owner = f"namespace {namespace.name}"
            subject = f"{owner} has quota only of node pools"
            yield _found(owner, namespace.path, subject, pools, "add quota of another node pool")


def _found(owner: str, path: Path, subject: str, leaving: Sequence[Pool | Queue | Tenant], alternative: str) -> Found:
    """Returns the finding about an owner that depends only on leaving elements. The finding is at the last of them."""
    message = f"{subject} that are marked as leaving: {', '.join(element.name for element in leaving)}"
    fix = f"set leaving of {owner} to true, or {alternative}"
    return Found((*leaving[-1].path, "leaving"), message, fix, [Related(owner, path, on_key=True)])


@rule("REM101")
def removed_but_present(cluster: Cluster) -> Findings:
    """A name is in `removed`, but the spec still contains the pool, queue or tenant with this name."""
    present = {
        "pools": {pool.name for pool in cluster.pools},
        "tenants": {tenant.name for tenant in cluster.tenants},
        "namespaces": set(cluster.tenant_namespaces),
        "queues": {queue.name for queue in cluster.queues},
    }
    for section in Removed.model_fields:
        for name in getattr(cluster.spec.removed, section):
            if name in present[section]:
                kind = {"pools": "node pool"}.get(section, section.removesuffix("s"))
                message = f"{kind} {name} is in removed, but is still in the spec"
                yield Found(("spec", "removed", section, name), message, f"remove {name} from removed.{section}")
