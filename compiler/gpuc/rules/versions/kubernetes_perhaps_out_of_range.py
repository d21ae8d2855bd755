from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import schema_errors


@rule("VER102", Severity.WARNING, source="catalog, releases and versions of low confidence")
def kubernetes_perhaps_out_of_range(cluster: Cluster) -> Findings:
    """A component may not run on the cluster's Kubernetes version.

    Its project names no range; what is known points against it. Try it before you rely on it.
    """
    yield from schema_errors(cluster, certain=False)
