"""Repositories, destinations and objects of Applications that their AppProject does not permit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.manifest.manifest import Manifest
from gpuc.objects.application_sources import ARGO, Delivery, Source
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, items
from gpuc.objects.symbol_table import CLUSTER_SCOPED

NOT_PERMITTED = declare_rule(
    "REF012",
    Severity.ERROR,
    "The project of an Application does not permit its repository or destination.",
    "Argo CD reports InvalidSpecError and does not sync the Application.",
    "Argo CD v3.5, pkg/apis/application/v1alpha1/app_project_types.go (IsSourcePermitted, IsDestinationPermitted)",
)
KIND_NOT_PERMITTED = declare_rule(
    "REF013",
    Severity.ERROR,
    "The project of an Application does not permit the kind or namespace of an object in its folder.",
    "The sync fails (resource is not permitted in project). Argo CD does not apply this sync wave and later waves.",
    "Argo CD v3.5, pkg/apis/application/v1alpha1/app_project_types.go (IsGroupKindPermitted)",
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about Applications, and objects in their folders, that the AppProject does not permit."""
    projects = {project.name: project for project in index.tree.of(ARGO, "AppProject")}
    for application in index.tree.of(ARGO, "Application"):
        if (project := _project(application, projects)) is not None:
            yield from _destination(application, project)
    for source in index.delivery.sources:
        if (project := _project(source.application, projects)) is not None:
            yield from _repository(source, project)
            yield from _objects(source, index.delivery, project)


def _project(application: Manifest, projects: dict[str, Manifest]) -> Manifest | None:
    name = dig(application.body, "spec", "project")
    return projects.get(name) if isinstance(name, str) else None


def _repository(source: Source, project: Manifest) -> Iterator[ObjectFinding]:
    url = dig(source.value, "repoURL")
    allowed = [text for _, text in items(dig(project.body, "spec", "sourceRepos")) if isinstance(text, str)]
    if isinstance(url, str) and not any(_matches(pattern, url) for pattern in allowed):
        permitted = ", ".join(allowed) or "none"
        message = f"AppProject {project.name} does not permit the repository {url}; sourceRepos has {permitted}"
        yield ObjectFinding(NOT_PERMITTED, source.application, (*source.path, "repoURL"), message)


def _matches(pattern: str, url: str) -> bool:
    wanted, actual = (text.lower().removesuffix("/").removesuffix(".git") for text in (pattern, url))
    return fnmatchcase(actual, wanted) and not pattern.startswith("!")


def _destination(application: Manifest, project: Manifest) -> Iterator[ObjectFinding]:
    destination = dig(application.body, "spec", "destination")
    namespace = dig(destination, "namespace")
    if isinstance(namespace, str) and not _is_permitted(project, destination, namespace):
        message = f"AppProject {project.name} does not permit namespace {namespace} on the server of this destination"
        yield ObjectFinding(NOT_PERMITTED, application, ("spec", "destination", "namespace"), message)


def _is_permitted(project: Manifest, destination: Any, namespace: str) -> bool:
    """Returns whether a project permits a namespace in the destination's cluster."""
    server, name = dig(destination, "server"), dig(destination, "name")
    permits = False
    for _, permitted in items(dig(project.body, "spec", "destinations")):
        is_cluster = (server and _fits(dig(permitted, "server"), server)) or (
            name and _fits(dig(permitted, "name"), name)
        )
        wanted = dig(permitted, "namespace")
        if is_cluster and isinstance(wanted, str):
            if wanted.startswith("!") and fnmatchcase(namespace, wanted[1:]):
                return False
            permits = permits or (not wanted.startswith("!") and fnmatchcase(namespace, wanted))
    return permits


def _fits(pattern: Any, text: Any) -> bool:
    return isinstance(pattern, str) and isinstance(text, str) and fnmatchcase(text, pattern)


def _objects(source: Source, delivery: Delivery, project: Manifest) -> Iterator[ObjectFinding]:
    """Yields findings about objects in a source's folders that the project does not permit.

    There is one finding for every kind and namespace.
    """
    reported: set[tuple[str, str]] = set()
    checked: set[tuple[str, str, str]] = set()
    destination = dig(source.application.body, "spec", "destination")
    permits_namespace = cache(lambda namespace: _is_permitted(project, destination, namespace))
    for folder in delivery.synced_folders(source):
        for manifest in delivery.objects[folder]:
            key = (manifest.api, manifest.kind, manifest.namespace)
            if key not in checked:
                checked.add(key)
                yield from _kind(manifest, source.application, project, reported, permits_namespace)


def _kind(
    manifest: Manifest,
    application: Manifest,
    project: Manifest,
    reported: set[tuple[str, str]],
    permits_namespace: Callable[[str], bool],
) -> Iterator[ObjectFinding]:
    kind = (group(manifest), manifest.kind)
    spec = dig(project.body, "spec")
    has_namespace = bool(manifest.namespace)
    prefix = "namespace" if has_namespace else "cluster"
    allowed, denied = dig(spec, f"{prefix}ResourceWhitelist"), dig(spec, f"{prefix}ResourceBlacklist")
    may_have_namespace = not has_namespace and not _is_of_cluster(kind)
    permits = _lists(allowed, kind) or (has_namespace and allowed is None)
    if may_have_namespace:
        permits = permits or dig(spec, "namespaceResourceWhitelist") is None
        permits = permits or _lists(dig(spec, "namespaceResourceWhitelist"), kind)
    if (not permits or _lists(denied, kind)) and kind not in reported:
        reported.add(kind)
        message = (
            f"AppProject {project.name} of Application {application.name} does not permit the kind {manifest.kind}"
        )
        yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("kind",), message)
    elif manifest.namespace and not permits_namespace(manifest.namespace):
        message = f"AppProject {project.name} of Application {application.name} does not permit this namespace"
        yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("metadata", "namespace"), message)


def _is_of_cluster(kind: tuple[str, str]) -> bool:
    """Returns whether objects of a kind certainly have no namespace."""
    return (
        kind in CLUSTER_SCOPED
        or kind[0] in ("constraints.gatekeeper.sh", "templates.gatekeeper.sh")
        or kind[1].startswith("Cluster")
    )


def _lists(rules: Any, kind: tuple[str, str]) -> bool:
    return any(_fits(dig(rule, "group"), kind[0]) and _fits(dig(rule, "kind"), kind[1]) for _, rule in items(rules))
