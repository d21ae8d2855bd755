from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM105", Severity.WARNING)
def namespace_with_leaving_pools(cluster: Cluster) -> Findings:
    """A namespace without queues has quota only of node pools that are marked as leaving, but the namespace is not.

    Karpenter starts no new nodes for leaving pools. New pods of the namespace stay pending.
    """
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            pools = [quota.pool for quota in namespace.quotas]
            is_leaving = namespace.spec.leaving or tenant.spec.leaving
            if pools and not namespace.queues and not is_leaving and all(pool.spec.leaving for pool in pools):
                names = ", ".join(pool.name for pool in pools)
                message = f"namespace {namespace.name} has quota only of node pools that are marked as leaving: {names}"
                fix = f"set leaving of namespace {namespace.name} to true, or add quota of another node pool"
                related = [Related(f"namespace {namespace.name}", namespace.path, on_key=True)]
                yield (*pools[-1].path, "leaving"), message, fix, related
