"""The charts of components: who installs them, and into which namespaces."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM
from gpuc.rules import Findings, Found, rule


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
        yield Found(("spec", "components", other, "managed"), message, f"set managed of component {managed} to false")


@rule("CMP102", Severity.WARNING)
def repository_of_another_team(cluster: Cluster) -> Findings:
    """A spec sets the repository of a chart that another team installs.

    gpuc emits no Application of this chart, so the repository has no effect.
    """
    for name, settings in cluster.spec.components.items():
        if settings.repository is not None and not settings.managed:
            message = f"component {name} has a repository, but another team installs the chart; expected no repository"
            yield Found(("spec", "components", name, "repository"), message, "remove repository")


@rule("CMP001", source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md, managedNamespaceMetadata")
def shared_namespace(cluster: Cluster) -> Findings:
    """Two components that gpuc installs have the same namespace.

    The Application of each component sets the labels of its namespace, and removes the labels of the other component.
    Without its labels, the namespace refuses pods that use the host, or Gatekeeper denies pods of the platform.
    """
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
