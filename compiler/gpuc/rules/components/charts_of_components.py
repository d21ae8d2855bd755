"""Rules about the charts of components: who installs the charts, and into which namespaces."""

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.rules import Findings, Found, rule


@rule("CMP101", Severity.WARNING)
def crds_of_another_team(cluster: Cluster) -> Findings:
    """gpuc installs only one of two charts that belong together: the controller, or its CustomResourceDefinitions."""
    for name, release in cluster.components.items():
        definitions = release.crds_from
        if definitions in ("", name) or cluster.is_managed(name) == cluster.is_managed(definitions):
            continue
        managed, other = (name, definitions) if cluster.is_managed(name) else (definitions, name)
        message = f"gpuc installs {managed}, but another team installs {other}; expected the same team for both"
        yield Found(("spec", "components", other, "managed"), message, f"set managed of component {managed} to false")


@rule("CMP102", Severity.WARNING)
def repository_of_another_team(cluster: Cluster) -> Findings:
    """A spec sets the repository of a chart that another team installs."""
    for name, settings in cluster.spec.components.items():
        if settings.repository is not None and not settings.managed:
            message = f"component {name} has a repository, but another team installs the chart; expected no repository"
            yield Found(("spec", "components", name, "repository"), message, "remove repository")


@rule("CMP001")
def shared_namespace(cluster: Cluster) -> Findings:
    """Two components that gpuc installs have the same namespace."""
    charts_of_crds = {release.crds_from for name, release in cluster.components.items() if release.crds_from != name}
    owners: dict[str, list[str]] = {}
    for name, release in cluster.components.items():
        if cluster.is_managed(name) and name not in charts_of_crds and release.namespace not in ALWAYS_PLATFORM:
            owners.setdefault(release.namespace, []).append(name)
    for namespace, names in owners.items():
        for name in names if len(names) > 1 else ():
            settings = cluster.spec.components.get(name)
            if settings is not None and settings.namespace is not None:
                others = ", ".join(other for other in names if other != name)
                message = f"component {name} has namespace {namespace}, which is also the namespace of {others}"
                yield Found(("spec", "components", name, "namespace"), f"{message}; expected a namespace of its own")
