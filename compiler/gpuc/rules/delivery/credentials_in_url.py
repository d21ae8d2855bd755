from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository URL contains credentials.

    gpuc writes the URL into every Application, where all users with read access can see the credentials.
    """
    repo = cluster.spec.delivery.repo
    if repo.startswith("https://") and "@" in repo.removeprefix("https://").split("/")[0]:
        clean = "https://" + repo.removeprefix("https://").split("@", 1)[1]
        message = "the repository URL contains credentials; put the credentials into a repository Secret of Argo CD"
        yield ("spec", "delivery", "repo"), message, f"write {clean}"
