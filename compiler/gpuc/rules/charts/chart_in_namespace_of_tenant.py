from __future__ import annotations

from gpuc.diagnostics.finding import Path, Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("CHT001")
def chart_in_namespace_of_tenant(cluster: Cluster) -> Findings:
    """A chart of the platform has objects in a namespace of a tenant.

    The quota and the policies of the tenant would apply to the pods of the chart, and members of the tenant could
    change them. If the chart is installed for the tenant, set `tenant`: the AppProject then permits only the
    namespaces of the tenant.
    """
    owners = {namespace.name: tenant for tenant, namespace in cluster.namespaces}
    for name, chart in cluster.spec.charts.items():
        if chart.tenant is not None:
            continue
        named: list[tuple[Path, str]] = [(("namespace",), chart.namespace)]
        named += [(("namespaces", index), other) for index, other in enumerate(chart.namespaces)]
        for path, namespace in named:
            if owner := owners.get(namespace):
                yield (
                    ("spec", "charts", name, *path),
                    f"namespace {namespace} of chart {name} belongs to tenant {owner.name}; expected another namespace",
                    f"add tenant: {owner.name} to chart {name}, or choose another namespace",
                    [Related(f"tenant {owner.name}", (*owner.path, "namespaces", namespace), on_key=True)],
                )
