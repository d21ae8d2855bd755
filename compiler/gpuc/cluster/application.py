"""Reads Argo CD Applications, and finds the folders and charts that each Application installs."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from gpuc.cluster.repository_url import normalized_url
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.argocd import OPTIONS, WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, by_first, dig, group, grouped, items, labels
from gpuc.spec.platform import OWN_NAME, OWN_SERVER

ARGO = "argoproj.io"
OUTPUT = "out/"
"""The folder of the output of a fleet."""


class Destination(NamedTuple):
    """The cluster and the namespace in which an Application installs objects. The cluster has a URL or a name.

    A field is empty if the Application does not set it.
    """

    server: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def cluster(self) -> str:
        """The URL (`server`) of the cluster, or else its name. Argo CD's own cluster always gets its URL here."""
        return OWN_SERVER if self.is_own else self.server or self.name

    @property
    def is_own(self) -> bool:
        """Whether the cluster is the one in which Argo CD runs."""
        return self.server == OWN_SERVER or (not self.server and self.name == OWN_NAME)

    @property
    def own(self) -> "Destination":
        """The namespace of this destination in Argo CD's own cluster, with both the URL and the name of the cluster."""
        return Destination(OWN_SERVER, OWN_NAME, self.namespace)


class Source(Struct, frozen=True):
    """A source of an Application: a folder of a Git repository or a Helm chart. Fields that are not set are empty."""

    application: Manifest
    path: Path
    """The path of the source in the Application."""
    value: Any
    """The source as in the object, unvalidated."""
    url: str
    """The repoURL: of a Git repository, of a Helm repository, or of an OCI registry without oci://."""
    repository: str
    """The repoURL in a normal form: two URLs of the same repository have the same form."""
    revision: str
    """The revision in Git, or the version of the chart."""
    chart: str
    """The name of the Helm chart."""
    folder: str | None
    """The synced folder, relative to the root of the repository; None for a chart or a source of values files."""
    is_recursive: bool
    """Whether Argo CD also syncs the subfolders of the folder."""

    def syncs(self, file: str) -> bool:
        """Returns whether Argo CD applies the objects of a file from this source.

        `file` can be a path in out/, or below any clone of the repository. The folder of the source can begin with
        `delivery.path` of the spec. So the function compares the ends of the paths.
        """
        parent = file.rpartition("/")[0]
        return bool(self.folder) and any(
            f"/{self.folder}".endswith(f"/{name.removeprefix(OUTPUT)}") or f"/{name}".endswith(f"/{self.folder}")
            for name in (_ancestors(parent) if self.is_recursive else (parent,))
            if name
        )


class Application(Struct, frozen=True):
    """An Argo CD Application, or the Application that an ApplicationSet has as its template."""

    manifest: Manifest
    name: str
    project: str
    """The name of the AppProject."""
    destination: Destination
    sources: tuple[Source, ...]
    prunes: bool
    """Whether Argo CD deletes objects that Git does not contain any more."""
    created_namespace: str
    """The namespace that Argo CD creates; empty if Argo CD creates none."""
    namespace_labels: dict[str, str]
    """The labels that Argo CD sets on the namespace."""
    options: tuple[Any, ...] = ()
    """The sync options, unvalidated."""

    @property
    def wave(self) -> int:
        """The sync wave: the number by which the parent Application orders its child Applications."""
        return wave_of(self.manifest)

    @property
    def chart(self) -> Source | None:
        """The first source that is a Helm chart; None for an Application without a chart."""
        return next((source for source in self.sources if source.chart), None)

    @property
    def git_sources(self) -> list[Source]:
        """The sources that are folders of a Git repository."""
        return [source for source in self.sources if not source.chart]


def source_in(application: Manifest, path: Path, value: Any) -> Source:
    """Returns a source of an Application, read from the value at a path of the object."""
    url, folder = _text(value, "repoURL"), dig(value, "path")
    repository, revision = normalized_url(url.removesuffix("/")) or url, str(dig(value, "targetRevision") or "")
    is_synced = isinstance(folder, str) and dig(value, "chart") is None
    synced = folder.strip("/").removeprefix("./").removesuffix("/.").strip(".") if is_synced else None
    is_recursive = dig(value, "directory", "recurse") is True
    return Source(application, path, value, url, repository, revision, _text(value, "chart"), synced, is_recursive)


def application_in(manifest: Manifest) -> Application:
    """Reads an Application from an object.

    Its sources are the folder to which the source hydrator writes, or else the list spec.sources, or else spec.source.

    Source: argo-cd v3.5.7 pkg/apis/application/v1alpha1/types.go (ApplicationSpec.GetSources)
    """
    base: Path = ("spec", "template", "spec") if manifest.kind == "ApplicationSet" else ("spec",)
    spec = dig(manifest.body, *base)
    sources = [((*base, "sources", number), source) for number, source in items(dig(spec, "sources"))]
    if isinstance(hydrator := dig(spec, "sourceHydrator"), dict):
        url, branch, folder = (dig(hydrator, "syncSource", key) for key in ("repoURL", "targetBranch", "path"))
        written = {"repoURL": url or dig(hydrator, "drySource", "repoURL"), "targetRevision": branch, "path": folder}
        sources = [((*base, "sourceHydrator", "syncSource"), written)]
    elif not sources and isinstance(source := dig(spec, "source"), dict):
        sources = [((*base, "source"), source)]
    policy, destination = dig(spec, "syncPolicy"), destination_in(dig(spec, "destination"))
    options = tuple(option for _, option in items(dig(policy, "syncOptions")))
    read = tuple(source_in(manifest, path, source) for path, source in sources)
    project, prunes = _text(spec, "project"), dig(policy, "automated", "prune") is True
    created = destination.namespace if "CreateNamespace=true" in options else ""
    own_labels = labels(dig(policy, "managedNamespaceMetadata", "labels"))
    return Application(manifest, manifest.name, project, destination, read, prunes, created, own_labels, options)


def destination_in(value: Any) -> Destination:
    """Reads a destination: spec.destination of an Application, or an entry in spec.destinations of an AppProject."""
    return Destination(*(_text(value, field) for field in Destination._fields))


def applications(manifests: Iterable[Manifest]) -> list[Application]:
    """Returns all Applications in a list of objects."""
    return [application_in(manifest) for manifest in manifests if is_application(manifest)]


def is_application(manifest: Manifest) -> bool:
    """Returns whether an object is an Application."""
    return manifest.kind == "Application" and group(manifest) == ARGO


def wave_of(manifest: Manifest) -> int:
    """Returns the sync wave in the annotation of an object; 0 if the annotation is missing or is not a number.

    Source: argo-cd v3.5.1 gitops-engine/pkg/sync/syncwaves/waves.go
    """
    text = str(manifest.annotations.get(WAVE, "0"))
    return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else 0


def sync_options(manifest: Manifest) -> list[str]:
    """Returns the entries of the annotation with Argo CD's sync options, for example Prune=false."""
    return [option.strip() for option in str(manifest.annotations.get(OPTIONS, "")).split(",")]


class Delivery:
    """What Argo CD applies: the sources of all Applications in a set of objects, and the objects of each folder."""

    def __init__(self, objects: ObjectSet) -> None:
        self.applications = applications(objects.of(ARGO, "Application"))
        self.sources = tuple(source for application in self.applications for source in application.sources)
        self.charts = {source.chart for source in self.sources if source.chart}
        """The names of the Helm charts that any source installs."""
        self.objects = grouped(objects.manifests, lambda manifest: manifest.file.rpartition("/")[0])
        """The objects of all files, by folder."""
        self._below = by_first((above, folder) for folder in self.objects for above in _ancestors(folder))
        """The folders that contain objects, by parent folder. Every folder counts as its own parent."""
        synced = [(source, folder) for source in self.sources for folder in self.synced_folders(source)]
        self.delivered = {folder for _, folder in synced}
        """The folders that any source syncs and that contain objects."""
        self.repositories = {source.repository for source, _ in synced}
        """The URLs of the repository that contains the objects: of all sources that sync a folder with objects."""

    def synced_folders(self, source: Source) -> list[str]:
        """Returns the folders below this source's folder that contain objects of the input and that Argo CD applies."""
        folder = source.folder
        if folder is None:
            return []
        if source.is_recursive:
            return self._below.get(folder, [])
        return [folder] if folder in self.objects else []


def _ancestors(folder: str) -> Iterator[str]:
    """Yields a folder and all of its parent folders, up to the root folder."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _text(value: Any, field: str) -> str:
    text = dig(value, field)
    return text if isinstance(text, str) else ""
