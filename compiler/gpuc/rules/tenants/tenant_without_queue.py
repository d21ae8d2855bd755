from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN105", Severity.WARNING)
def tenant_without_queue(cluster: Cluster) -> Findings:
    """A tenant has neither a queue nor quota in a namespace.

    The namespaces of the tenant have a quota of zero, so no pod of the tenant starts.
    """
    for tenant in cluster.tenants:
        has_quota = tenant.queues or any(namespace.quotas for namespace in tenant.namespaces)
        if not has_quota and not tenant.spec.leaving:
            yield (
                (*tenant.path, "costCentre"),
                f"tenant {tenant.name} has no queue, and its namespaces have no quota",
                f"add tenant {tenant.name} to tenants of a queue, or add quota to a namespace of tenant {tenant.name}",
            )
