"""Rules about the section `delivery` of the spec: `prune`, `path` and the URLs."""

from gpuc.diagnostics.finding import Path, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule("ARG002", Severity.WARNING)
def automatic_prune_in_production(cluster: Cluster) -> Findings:
    """Argo CD prunes automatically in a production cluster."""
    if cluster.spec.environment == "prod" and cluster.spec.delivery.prune == "automatic":
        message = "delivery.prune is automatic in prod; expected confirm or never"
        yield Found(("spec", "delivery", "prune"), message, "set delivery.prune to confirm")


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository URL contains credentials."""
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
    """`delivery.path`, the path of the output in the repository, does not end with out."""
    path = cluster.spec.delivery.path
    if path.rstrip("/").split("/")[-1] != "out":
        message = f"delivery.path is {path}; expected a path that ends with out, the output folder of gpuc"
        yield Found(("spec", "delivery", "path"), message)
