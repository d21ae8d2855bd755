from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG102", Severity.WARNING)
def path_beside_output(cluster: Cluster) -> Findings:
    """The path in the repository does not lead to out/.

    gpuc writes into a folder of that name; Argo CD would look beside it and find nothing to apply.
    """
    path = cluster.spec.delivery.path
    if path.rstrip("/").split("/")[-1] != "out":
        yield ("spec", "delivery", "path"), f"path is {path}; the output lies in a folder called out"
