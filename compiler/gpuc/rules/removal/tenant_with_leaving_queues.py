from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM104", Severity.WARNING)
def tenant_with_leaving_queues(cluster: Cluster) -> Findings:
    """All queues of a tenant are leaving, but the tenant is not.

    The tenant's LocalQueues are on hold: Kueue never admits its workloads.
    """
    for tenant in cluster.tenants:
        if not tenant.spec.leaving and tenant.queues and all(queue.spec.leaving for queue in tenant.queues):
            names = ", ".join(queue.name for queue in tenant.queues)
            message = f"{names} is leaving, and tenant {tenant.name} has no other queue"
            fix = f"give {tenant.name} another queue, or mark it as leaving"
            yield (*tenant.queues[-1].path, "leaving"), message, fix
