"""The settings of the delivery: prune, path and URLs."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("ARG002", Severity.WARNING, source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md")
def automatic_prune_in_production(cluster: Cluster) -> Findings:
    """Argo CD prunes automatically in a production cluster.

    Argo CD immediately deletes objects that the spec no longer contains. If you rename a node pool, Argo CD deletes all
    nodes of the node pool with their pods. If you rename a tenant, Argo CD deletes the namespaces of the tenant with
    all data. Disruption budgets do not delay the deletion.
    """
    if cluster.spec.environment == "prod" and cluster.spec.delivery.prune == "automatic":
        yield Found(
            ("spec", "delivery", "prune"),
            "delivery.prune is automatic in prod; expected confirm or never",
            "set delivery.prune to confirm",
        )


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository URL contains credentials.

    gpuc writes the URL into every Argo CD Application. All users who can read the Applications can see the credentials.
    """
    urls: list[tuple[str, Path, str]] = [("delivery.repo", ("spec", "delivery", "repo"), cluster.spec.delivery.repo)]
    for name, chart in cluster.spec.charts.items():
        urls.append((f"charts.{name}.repository", ("spec", "charts", name, "repository"), chart.repository))
    for name, component in cluster.spec.components.items():
        url = component.repository or ""
        urls.append((f"components.{name}.repository", ("spec", "components", name, "repository"), url))
    for field, path, url in urls:
        scheme, _, rest = url.partition("://")
        if scheme in ("https", "oci") and "@" in rest.split("/")[0]:
            message = f"{field} contains credentials; put the credentials into a repository Secret of Argo CD"
            yield Found(path, message, f"set {field} to {scheme}://{rest.split('@', 1)[1]}")


@rule("ARG102", Severity.WARNING)
def path_without_output(cluster: Cluster) -> Findings:
    """The path of the output in the repository does not end with out.

    gpuc writes the output into a folder with the name out. With another path Argo CD finds no objects.
    """
    path = cluster.spec.delivery.path
    if path.rstrip("/").split("/")[-1] != "out":
        yield Found(
            ("spec", "delivery", "path"),
            f"delivery.path is {path}; expected a path that ends with out, the output folder of gpuc",
        )
