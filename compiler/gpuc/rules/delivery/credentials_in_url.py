from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository URL contains credentials.

    gpuc writes the URL into every Application, where everyone with read access can see the password.
    """
    repo = cluster.spec.delivery.repo
    if repo.startswith("https://") and "@" in repo.removeprefix("https://").split("/")[0]:
        clean = "https://" + repo.removeprefix("https://").split("@", 1)[1]
        message = "the URL contains credentials; put them into a repository secret of Argo CD"
        yield ("spec", "delivery", "repo"), message, f"write {clean}"
