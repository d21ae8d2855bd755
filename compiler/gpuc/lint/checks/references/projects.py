"""Argo CD's projects: whether each Application, and each object that it brings, is permitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.manifest.manifest import Manifest
from gpuc.objects.application_sources import ARGO, Delivery, Source
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, items
from gpuc.objects.symbol_table import CLUSTER_SCOPED

NOT_PERMITTED = declare_rule(
    "REF012",
    Severity.ERROR,
    "An Application's repository or destination is none that its project permits.",
    "Argo CD reports InvalidSpecError and syncs nothing of it.",
    "Argo CD v3.5, pkg/apis/application/v1alpha1/app_project_types.go (IsSourcePermitted, IsDestinationPermitted)",
)
KIND_NOT_PERMITTED = declare_rule(
    "REF013",
    Severity.ERROR,
    "An Application's folder has an object whose kind or namespace its project does not permit.",
    "The sync fails: resource is not permitted in project; nothing of the wave and behind it is applied.",
    "Argo CD v3.5, pkg/apis/application/v1alpha1/app_project_types.go (IsGroupKindPermitted)",
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Applications, then the objects of their folders, that their project does not permit."""
    projects = {each.name: each for each in index.tree.of(ARGO, "AppProject")}
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
    seen = dig(source.value, "repoURL")
    allowed = [each for _, each in items(dig(project.body, "spec", "sourceRepos")) if isinstance(each, str)]
    if isinstance(seen, str) and not any(_is_repository(each, seen) for each in allowed):
        message = f"AppProject {project.name} does not permit {seen}, only {', '.join(allowed) or 'none'}"
        yield ObjectFinding(NOT_PERMITTED, source.application, (*source.path, "repoURL"), message)


def _is_repository(pattern: str, seen: str) -> bool:
    ours, theirs = (text.lower().removesuffix("/").removesuffix(".git") for text in (pattern, seen))
    return fnmatchcase(theirs, ours) and not pattern.startswith("!")


def _destination(application: Manifest, project: Manifest) -> Iterator[ObjectFinding]:
    destination = dig(application.body, "spec", "destination")
    namespace = dig(destination, "namespace")
    if isinstance(namespace, str) and not _is_permitted(project, destination, namespace):
        message = f"AppProject {project.name} does not permit this server with namespace {namespace}"
        yield ObjectFinding(NOT_PERMITTED, application, ("spec", "destination", "namespace"), message)


def _is_permitted(project: Manifest, destination: Any, namespace: str) -> bool:
    """Whether a namespace of the destination's cluster is one that a project permits."""
    server, name = dig(destination, "server"), dig(destination, "name")
    permits = False
    for _, each in items(dig(project.body, "spec", "destinations")):
        is_cluster = (server and _fits(dig(each, "server"), server)) or (name and _fits(dig(each, "name"), name))
        wanted = dig(each, "namespace")
        if is_cluster and isinstance(wanted, str):
            if wanted.startswith("!") and fnmatchcase(namespace, wanted[1:]):
                return False
            permits = permits or (not wanted.startswith("!") and fnmatchcase(namespace, wanted))
    return permits


def _fits(pattern: Any, text: Any) -> bool:
    return isinstance(pattern, str) and isinstance(text, str) and fnmatchcase(text, pattern)


def _objects(source: Source, delivery: Delivery, project: Manifest) -> Iterator[ObjectFinding]:
    """What a source's folders hold and the project does not permit, each kind of each namespace once."""
    told: set[tuple[str, str]] = set()
    asked: set[tuple[str, str, str]] = set()
    destination = dig(source.application.body, "spec", "destination")
    permits_namespace = cache(lambda namespace: _is_permitted(project, destination, namespace))
    for folder in delivery.synced_folders(source):
        for manifest in delivery.objects[folder]:
            key = (manifest.api, manifest.kind, manifest.namespace)
            if key not in asked:
                asked.add(key)
                yield from _kind(manifest, source.application, project, told, permits_namespace)


def _kind(
    manifest: Manifest,
    application: Manifest,
    project: Manifest,
    told: set[tuple[str, str]],
    permits_namespace: Callable[[str], bool],
) -> Iterator[ObjectFinding]:
    kind = (group(manifest), manifest.kind)
    spec = dig(project.body, "spec")
    is_scoped = bool(manifest.namespace)
    prefix = "namespace" if is_scoped else "cluster"
    white, black = dig(spec, f"{prefix}ResourceWhitelist"), dig(spec, f"{prefix}ResourceBlacklist")
    is_unclear = not is_scoped and not _is_of_cluster(kind)
    permits = _lists(white, kind) or (is_scoped and white is None)
    if is_unclear:
        permits = permits or dig(spec, "namespaceResourceWhitelist") is None
        permits = permits or _lists(dig(spec, "namespaceResourceWhitelist"), kind)
    if (not permits or _lists(black, kind)) and kind not in told:
        told.add(kind)
        message = f"AppProject {project.name}, of Application {application.name}, does not permit a {manifest.kind}"
        yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("kind",), message)
    elif manifest.namespace and not permits_namespace(manifest.namespace):
        message = f"AppProject {project.name}, of Application {application.name}, does not permit this namespace"
        yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("metadata", "namespace"), message)


def _is_of_cluster(kind: tuple[str, str]) -> bool:
    """Whether objects of a kind certainly have no namespace."""
    return (
        kind in CLUSTER_SCOPED
        or kind[0] in ("constraints.gatekeeper.sh", "templates.gatekeeper.sh")
        or kind[1].startswith("Cluster")
    )


def _lists(rules: Any, kind: tuple[str, str]) -> bool:
    return any(_fits(dig(each, "group"), kind[0]) and _fits(dig(each, "kind"), kind[1]) for _, each in items(rules))
