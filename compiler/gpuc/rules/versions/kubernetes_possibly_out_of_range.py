from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import incompatible_components


@rule("VER102", Severity.WARNING, source="catalog, releases and versions of low confidence")
def kubernetes_possibly_out_of_range(cluster: Cluster) -> Findings:
    """A component possibly does not support the cluster's Kubernetes version.

    The project of the component publishes no range, but other sources suggest that the Kubernetes version is too old or
    too new. Test the component with this version.
    """
    yield from incompatible_components(cluster, certain=False)
