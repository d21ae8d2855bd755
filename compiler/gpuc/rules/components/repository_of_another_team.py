from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("CMP102", Severity.WARNING)
def repository_of_another_team(cluster: Cluster) -> Findings:
    """A spec sets the repository of a chart that another team installs.

    gpuc emits no Application of this chart, so the repository has no effect.
    """
    for name, settings in cluster.spec.components.items():
        if settings.repository is not None and not settings.managed:
            message = f"component {name} has a repository, but another team installs the chart; expected no repository"
            yield ("spec", "components", name, "repository"), message, "remove repository"
