from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("REM103", Severity.WARNING)
def queue_without_lasting_tenant(cluster: Cluster) -> Findings:
    """A queue stays, and all of its tenants leave.

    The quota would belong to a queue that takes no work, and a queue without a tenant has no place in the spec.
    """
    for queue in cluster.queues:
        tenants = [tenant for tenant in cluster.tenants if queue in tenant.queues]
        if not queue.spec.leaving and tenants and all(tenant.spec.leaving for tenant in tenants):
            names = ", ".join(tenant.name for tenant in tenants)
            message = f"{names} leaves, and queue {queue.name} has no other tenant"
            yield (*tenants[-1].path, "leaving"), message, f"mark {queue.name} as leaving, or give it another tenant"
