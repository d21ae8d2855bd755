from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM103", Severity.WARNING)
def queue_with_leaving_tenants(cluster: Cluster) -> Findings:
    """All tenants of a queue are leaving, but the queue is not.

    No namespace could submit work to the queue, and its quota would be unused. The spec also requires a tenant in each
    queue.
    """
    for queue in cluster.queues:
        tenants = [tenant for tenant in cluster.tenants if queue in tenant.queues]
        if not queue.spec.leaving and tenants and all(tenant.spec.leaving for tenant in tenants):
            names = ", ".join(tenant.name for tenant in tenants)
            message = f"{names} is leaving, and queue {queue.name} has no other tenant"
            yield (*tenants[-1].path, "leaving"), message, f"mark {queue.name} as leaving, or give it another tenant"
