"""Argo CD Applications as values, and the folders and charts that they install."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels
from gpuc.spec.platform import OWN_NAME, OWN_SERVER

ARGO = "argoproj.io"
OUTPUT = "out/"
"""The folder of the output of a fleet."""
_SSH = re.compile(r"(ssh://)?[^/:]*@[^@]+")
_KEPT = "!#$%&'()*+,/:;=?@[]~"
"""The signs of a URL that Argo CD does not escape."""


class Destination(NamedTuple):
    """The cluster of an Application, as the address of its API server or as a name, and the namespace of the objects.

    A text is empty if the Application does not set it.
    """

    server: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def cluster(self) -> str:
        """The server or the name of the cluster. The cluster of Argo CD has only the server."""
        return OWN_SERVER if self.is_own else self.server or self.name

    @property
    def is_own(self) -> bool:
        """Whether the cluster is the one in which Argo CD runs."""
        return self.server == OWN_SERVER or (not self.server and self.name == OWN_NAME)

    @property
    def own(self) -> Destination:
        """The namespace in the cluster of Argo CD, with both names of that cluster."""
        return Destination(OWN_SERVER, OWN_NAME, self.namespace)


@dataclass(frozen=True)
class Source:
    """A source of an Application. A text is empty if the source does not have it."""

    application: Manifest
    path: Path
    """The path of the source in the Application."""
    value: Any
    """The source as in the object, unvalidated."""

    @property
    def url(self) -> str:
        """The repoURL: of a Git repository, of a Helm repository, or of a registry without oci://."""
        return _text(self.value, "repoURL")

    @property
    def repository(self) -> str:
        """The repoURL in the form that is equal for equal repositories."""
        return normalized_url(self.url.removesuffix("/"))

    @property
    def host(self) -> str:
        """The host of the repoURL."""
        return _split(self.url)[0]

    @property
    def host_path(self) -> str:
        """The path of the repository on the host, without slashes at the start and the end."""
        return _split(self.url)[1]

    @property
    def is_oci(self) -> bool:
        """Whether a chart is in an OCI registry, and not in a Helm repository."""
        return not self.url.startswith(("https://", "http://"))

    @property
    def revision(self) -> str:
        """The revision in Git, or the version of the chart."""
        return str(dig(self.value, "targetRevision") or "")

    @property
    def chart(self) -> str:
        """The name of the Helm chart."""
        return _text(self.value, "chart")

    @property
    def folder(self) -> str | None:
        """The synced folder, relative to the root of the repository; None for a chart or a source of values files."""
        folder = dig(self.value, "path")
        if not isinstance(folder, str) or dig(self.value, "chart") is not None:
            return None
        return folder.strip("/").removeprefix("./").removesuffix("/.").strip(".")

    @property
    def is_recursive(self) -> bool:
        """Whether Argo CD also syncs the subfolders of the folder."""
        return dig(self.value, "directory", "recurse") is True

    def syncs(self, file: str) -> bool:
        """Returns whether Argo CD applies the objects of a file.

        The folder begins with `delivery.path` of the spec, and the output file with OUTPUT. Other files can be below a
        clone of the repository.
        """
        parent = file.rpartition("/")[0]
        return bool(self.folder) and any(
            f"/{self.folder}".endswith(f"/{name.removeprefix(OUTPUT)}") or f"/{name}".endswith(f"/{self.folder}")
            for name in (_ancestors(parent) if self.is_recursive else (parent,))
            if name
        )


@dataclass(frozen=True)
class Application:
    """An Application, or the template of an ApplicationSet."""

    manifest: Manifest

    @classmethod
    def of(cls, document: Body) -> Application:
        """Returns an Application of the API server, whose lists have items without apiVersion and kind."""
        name, body = document["metadata"]["name"], {"spec": document.get("spec")}
        return cls(Manifest("", (), f"{ARGO}/v1alpha1", "Application", name, body))

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def wave(self) -> int:
        """The sync wave in the root Application."""
        return wave_of(self.manifest)

    @property
    def project(self) -> str:
        """The name of the AppProject."""
        return _text(self._spec, "project")

    @property
    def destination(self) -> Destination:
        """The cluster and the namespace."""
        return destination_in(dig(self._spec, "destination"))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The items of spec.sources, or else spec.source.

        Source: argo-cd v3.5.1 pkg/apis/application/v1alpha1/types.go (ApplicationSpec.GetSources)
        """
        several = [
            Source(self.manifest, (*self._base, "sources", number), value)
            for number, value in items(dig(self._spec, "sources"))
        ]
        single = dig(self._spec, "source")
        if not several and isinstance(single, dict):
            return (Source(self.manifest, (*self._base, "source"), single),)
        return tuple(several)

    @property
    def chart(self) -> Source | None:
        """The first source that is a Helm chart; None for an Application without a chart."""
        return next((source for source in self.sources if source.chart), None)

    @property
    def git_sources(self) -> tuple[Source, ...]:
        """The sources that are no Helm charts."""
        return tuple(source for source in self.sources if not source.chart)

    @property
    def prunes(self) -> bool:
        """Whether Argo CD deletes objects that Git does not contain any more."""
        return dig(self._spec, "syncPolicy", "automated", "prune") is True

    @property
    def created_namespace(self) -> str:
        """The namespace that Argo CD creates; empty if Argo CD creates none."""
        options = [option for _, option in items(dig(self._spec, "syncPolicy", "syncOptions"))]
        return self.destination.namespace if "CreateNamespace=true" in options else ""

    @property
    def namespace_labels(self) -> dict[str, str]:
        """The labels that Argo CD sets on the namespace."""
        return labels(dig(self._spec, "syncPolicy", "managedNamespaceMetadata", "labels"))

    @property
    def _base(self) -> Path:
        return ("spec", "template", "spec") if self.manifest.kind == "ApplicationSet" else ("spec",)

    @property
    def _spec(self) -> Any:
        return dig(self.manifest.body, *self._base)


def destination_in(value: Any) -> Destination:
    """Returns the destination of an Application, or an entry of the destinations of an AppProject."""
    return Destination(*(_text(value, field) for field in Destination._fields))


def normalized_url(url: str) -> str:
    """Returns a repoURL in lower case, without ".git", and without the form of SSH.

    Source: argo-cd v3.5.1 util/git/git.go (NormalizeGitURL)
    """
    url = url.strip().lower()
    if _SSH.fullmatch(url) and not url.startswith("ssh://"):
        url = url.replace(":", "/", 1)
    return quote(url.removesuffix(".git").removeprefix("ssh://"), safe=_KEPT)


def applications(manifests: Iterable[Manifest]) -> list[Application]:
    """Returns the Applications among objects."""
    return [Application(manifest) for manifest in manifests if is_application(manifest)]


def is_application(manifest: Manifest) -> bool:
    """Returns whether an object is an Application."""
    return manifest.kind == "Application" and group(manifest) == ARGO


def wave_of(manifest: Manifest) -> int:
    """Returns the sync wave of an object; 0 without a wave, and for text that is not a number.

    Source: argo-cd v3.5.1 gitops-engine/pkg/sync/syncwaves/waves.go
    """
    text = str(manifest.annotations.get(WAVE, "0"))
    return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else 0


class Delivery:
    """The sources of all Applications, and the folders of all objects."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self.applications = applications(objects.of(ARGO, "Application"))
        self.sources = tuple(source for application in self.applications for source in application.sources)

    @cached_property
    def objects(self) -> dict[str, list[Manifest]]:
        """The objects of all files, by folder."""
        by_folder: dict[str, list[Manifest]] = {}
        for manifest in self._objects.manifests:
            by_folder.setdefault(manifest.file.rpartition("/")[0], []).append(manifest)
        return by_folder

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """The folders that contain objects, by parent folder. Every folder counts as its own parent."""
        by_parent: dict[str, list[str]] = {}
        for folder in self.objects:
            for above in _ancestors(folder):
                by_parent.setdefault(above, []).append(folder)
        return by_parent

    def synced_folders(self, source: Source) -> list[str]:
        """Returns the folders that a source syncs and that contain objects."""
        folder = source.folder
        if folder is None:
            return []
        if source.is_recursive:
            return self._below.get(folder, [])
        return [folder] if folder in self.objects else []

    @cached_property
    def delivered(self) -> set[str]:
        """The folders that any source syncs and that contain objects."""
        return {folder for source in self.sources for folder in self.synced_folders(source)}

    @cached_property
    def repositories(self) -> set[str]:
        """The URLs of the repository that contains the objects: of all sources that sync a folder with objects."""
        return {source.repository for source in self.sources if self.synced_folders(source)}

    @cached_property
    def charts(self) -> set[str]:
        """The names of the Helm charts that any source installs."""
        return {source.chart for source in self.sources if source.chart}


def _ancestors(folder: str) -> Iterator[str]:
    """Yields a folder and all of its parent folders, up to the root folder."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _text(value: Any, field: str) -> str:
    text = dig(value, field)
    return text if isinstance(text, str) else ""


def _split(url: str) -> tuple[str, str]:
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc, parts.path.strip("/")
