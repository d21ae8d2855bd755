from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository URL contains credentials.

    gpuc writes the URL into every Argo CD Application. All users who can read the Applications can see the credentials.
    """
    repo = cluster.spec.delivery.repo
    if repo.startswith("https://") and "@" in repo.removeprefix("https://").split("/")[0]:
        url = "https://" + repo.removeprefix("https://").split("@", 1)[1]
        message = "delivery.repo contains credentials; put the credentials into a repository Secret of Argo CD"
        yield ("spec", "delivery", "repo"), message, f"set delivery.repo to {url}"
