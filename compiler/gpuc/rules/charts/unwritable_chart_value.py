from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.manifest.printable import unprintable
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("CHT005")
def unwritable_chart_value(cluster: Cluster) -> Findings:
    """A value of a chart cannot be written as YAML so that all tools read the same value.

    Helm would read another value than the value in the spec.
    """
    for name, chart in cluster.spec.charts.items():
        path: Path = ("spec", "charts", name, "values")
        yield from unprintable(chart.values, allows_null=True, path=path)
