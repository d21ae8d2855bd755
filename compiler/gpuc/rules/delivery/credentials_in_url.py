from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("ARG101")
def credentials_in_url(cluster: Cluster) -> Findings:
    """The repository's URL holds credentials.

    It is written into every Application, where everybody who reads them reads the password.
    """
    repo = cluster.spec.delivery.repo
    if repo.startswith("https://") and "@" in repo.removeprefix("https://").split("/")[0]:
        clean = "https://" + repo.removeprefix("https://").split("@", 1)[1]
        message = "the URL holds credentials; they belong in a repository secret of Argo CD"
        yield ("spec", "delivery", "repo"), message, f"write {clean}"
