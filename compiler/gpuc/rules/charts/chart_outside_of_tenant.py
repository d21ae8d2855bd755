from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("CHT002")
def chart_outside_of_tenant(cluster: Cluster) -> Findings:
    """A chart of a tenant has cluster-scoped objects, or objects outside of the namespaces of the tenant.

    The AppProject of such a chart permits only the namespaces of the tenant, so that neither the chart nor its values
    can reach objects of another tenant.
    """
    tenants = {tenant.name: [namespace.name for namespace in tenant.namespaces] for tenant in cluster.tenants}
    for name, chart in cluster.spec.charts.items():
        if chart.tenant is None:
            continue
        path = ("spec", "charts", name)
        if chart.tenant not in tenants:
            suggestion = nearest(chart.tenant, tenants)
            message = f"tenant {chart.tenant} of chart {name} does not exist; expected {' or '.join(tenants)}"
            yield (*path, "tenant"), message, f"set tenant to {suggestion}" if suggestion else ""
            continue
        own = tenants[chart.tenant]
        named: list[tuple[Path, str]] = [(("namespace",), chart.namespace)]
        named += [(("namespaces", index), other) for index, other in enumerate(chart.namespaces)]
        for step, namespace in named:
            if namespace not in own:
                message = f"namespace {namespace} of chart {name} does not belong to tenant {chart.tenant}"
                yield (*path, *step), f"{message}; expected {' or '.join(own)}"
        for index, kind in enumerate(chart.kinds.cluster):
            message = f"chart {name} of tenant {chart.tenant} has the cluster-scoped kind {kind}; expected none"
            yield (*path, "kinds", "cluster", index), message
