from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("NET106", Severity.WARNING)
def metrics_without_prometheus(cluster: Cluster) -> Findings:
    """A tenant opens ports for Prometheus, but the spec names no Prometheus.

    The NetworkPolicy for these ports names the namespace of Prometheus, which is part of the section observability.
    Without the section the ports stay closed.
    """
    for tenant in cluster.tenants if cluster.spec.observability is None else ():
        if "metrics" in tenant.spec.network.model_fields_set and tenant.spec.network.metrics:
            message = f"tenant {tenant.name} has network.metrics, but the spec has no observability"
            yield (*tenant.path, "network", "metrics"), message, "add observability to the spec"
