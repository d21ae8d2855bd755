from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN105", Severity.WARNING)
def tenant_without_queue(cluster: Cluster) -> Findings:
    """A tenant has no queue.

    The namespaces of the tenant have a quota of zero, so no pod of the tenant starts.
    """
    for tenant in cluster.tenants:
        if not tenant.queues and not tenant.spec.leaving:
            yield (
                (*tenant.path, "costCentre"),
                f"tenant {tenant.name} has no queue",
                f"add tenant {tenant.name} to tenants of a queue",
            )
