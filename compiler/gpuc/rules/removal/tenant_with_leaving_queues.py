from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM104", Severity.WARNING)
def tenant_with_leaving_queues(cluster: Cluster) -> Findings:
    """All queues of a tenant without other quota are marked as leaving, but the tenant is not.

    The LocalQueues of the tenant have the stopPolicy Hold, so Kueue never admits workloads of the tenant.
    """
    for tenant in cluster.tenants:
        has_quota = any(namespace.quotas for namespace in tenant.namespaces)
        if (
            not tenant.spec.leaving
            and not has_quota
            and tenant.queues
            and all(queue.spec.leaving for queue in tenant.queues)
        ):
            names = ", ".join(queue.name for queue in tenant.queues)
            message = f"tenant {tenant.name} has only queues that are marked as leaving: {names}"
            fix = f"set leaving of tenant {tenant.name} to true, or add tenant {tenant.name} to another queue"
            related = [Related(f"tenant {tenant.name}", tenant.path, on_key=True)]
            yield (*tenant.queues[-1].path, "leaving"), message, fix, related
