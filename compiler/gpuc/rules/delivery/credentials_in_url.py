from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


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
            yield path, message, f"set {field} to {scheme}://{rest.split('@', 1)[1]}"
