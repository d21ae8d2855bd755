from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("CMP101", Severity.WARNING)
def crds_of_another_team(cluster: Cluster) -> Findings:
    """gpuc installs a controller and another team installs its CustomResourceDefinitions, or the other way round.

    An upgrade changes both in one step: the CRDs first, and then the controller. A controller of another version does
    not read new fields, or writes fields that the CRDs do not have.
    """
    for name, release in cluster.components.items():
        definitions = release.crds_from
        if definitions in ("", name) or cluster.is_managed(name) == cluster.is_managed(definitions):
            continue
        managed, other = (name, definitions) if cluster.is_managed(name) else (definitions, name)
        message = f"gpuc installs {managed}, but another team installs {other}; expected the same team for both"
        yield ("spec", "components", other, "managed"), message, f"set managed of component {managed} to false"
