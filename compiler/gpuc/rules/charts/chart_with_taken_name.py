from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule

_APPLICATIONS = ("extra", "monitoring", "project", "root", "tenants")
"""Names of Applications of gpuc, and of the files beside them."""


@rule("CHT004")
def chart_with_taken_name(cluster: Cluster) -> Findings:
    """A chart has the name of a component, or of an Application that gpuc creates.

    Two Applications would have the same name. To change the values of a component, use `components` instead.
    """
    for name in cluster.spec.charts:
        path = ("spec", "charts", name, "repository")
        component = next((item for item in cluster.components if name == item or name.startswith(f"{item}-")), None)
        if component is not None:
            message = f"chart {name} has the name of component {component}, or begins with it; expected another name"
            yield path, message, f"rename chart {name}, or use components.{component}"
        elif name in _APPLICATIONS or name.startswith("extra-"):
            yield path, f"chart {name} has the name of an Application of gpuc; expected another name"
