from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM103", Severity.WARNING)
def queue_with_leaving_tenants(cluster: Cluster) -> Findings:
    """All tenants of a queue are marked as leaving, but the queue is not.

    No namespace can submit workloads to the queue, so the quota of the queue is unused. After the removal of the
    tenants the spec is invalid, because a queue needs a tenant.
    """
    for queue in cluster.queues:
        tenants = [tenant for tenant in cluster.tenants if queue in tenant.queues]
        if not queue.spec.leaving and tenants and all(tenant.spec.leaving for tenant in tenants):
            names = ", ".join(tenant.name for tenant in tenants)
            message = f"queue {queue.name} has only tenants that are marked as leaving: {names}"
            fix = f"set leaving of queue {queue.name} to true, or add a tenant to queue {queue.name}"
            related = [Related(f"queue {queue.name}", queue.path, on_key=True)]
            yield (*tenants[-1].path, "leaving"), message, fix, related
