from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG102", Severity.WARNING)
def path_without_output(cluster: Cluster) -> Findings:
    """The path of the output in the repository does not end with out.

    gpuc writes the output into a folder with the name out. With another path Argo CD finds no objects.
    """
    path = cluster.spec.delivery.path
    if path.rstrip("/").split("/")[-1] != "out":
        yield (
            ("spec", "delivery", "path"),
            f"delivery.path is {path}; expected a path that ends with out, the output folder of gpuc",
        )
