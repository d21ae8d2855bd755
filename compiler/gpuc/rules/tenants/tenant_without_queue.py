from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN105", Severity.WARNING)
def tenant_without_queue(cluster: Cluster) -> Findings:
    """No queue has the tenant.

    The tenant's namespaces exist with a quota of zero, so none of its pods ever starts.
    """
    for tenant in cluster.tenants:
        if not tenant.queues and not tenant.spec.leaving:
            yield (*tenant.path, "costCentre"), f"no queue has the tenant {tenant.name}"
