from __future__ import annotations

from gpuc.model import Cluster
from gpuc.model.tenant_kinds import DENIED_KINDS
from gpuc.rules import Findings, rule


@rule("CHT003")
def chart_with_denied_kind(cluster: Cluster) -> Findings:
    """A chart of a tenant has a kind with which the tenant could leave its limits.

    Argo CD creates the objects with its own permissions. If you have read the templates of the chart, accept the
    finding with `accept` at the chart. The version of the chart is exact, so the templates do not change.
    """
    for name, chart in cluster.spec.charts.items():
        for index, kind in enumerate(chart.kinds.namespaced if chart.tenant else ()):
            group, _, short = kind.rpartition("/")
            if reason := DENIED_KINDS.get((group, short)):
                message = f"chart {name} of tenant {chart.tenant} has objects of the kind {kind}: {reason}"
                yield ("spec", "charts", name, "kinds", "namespaced", index), message
