from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG102", Severity.WARNING)
def path_without_output(cluster: Cluster) -> Findings:
    """The path in the repository does not end with out.

    gpuc writes its output to a folder named out. Argo CD reads another folder and finds nothing to apply.
    """
    path = cluster.spec.delivery.path
    if path.rstrip("/").split("/")[-1] != "out":
        yield ("spec", "delivery", "path"), f"path is {path}; gpuc writes the output to a folder named out"
