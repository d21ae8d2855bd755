"""The sources of Argo CD Applications: folders of the repository, and Helm charts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items

ARGO = "argoproj.io"


class Source(NamedTuple):
    """A source of an Argo CD Application."""

    application: Manifest
    path: Path
    """The path of the source in the Application."""
    value: Any
    """The source as in the object, unvalidated."""

    @property
    def repository(self) -> str:
        """The repoURL in lower case, without a trailing slash and without ".git"."""
        url = dig(self.value, "repoURL")
        return url.lower().removesuffix("/").removesuffix(".git") if isinstance(url, str) else ""

    @property
    def folder(self) -> str | None:
        """The synced folder, relative to the root of the repository; None for a chart or a source of values files."""
        folder = dig(self.value, "path")
        if not isinstance(folder, str) or dig(self.value, "chart") is not None:
            return None
        return folder.strip("/").removeprefix("./").removesuffix("/.").strip(".")

    @property
    def chart(self) -> str | None:
        """The name of the Helm chart; None for a source without a chart."""
        name = dig(self.value, "chart")
        return name if isinstance(name, str) else None

    @property
    def is_recursive(self) -> bool:
        """Whether Argo CD also syncs the subfolders of the folder."""
        return dig(self.value, "directory", "recurse") is True


def sources(application: Manifest) -> Iterator[Source]:
    """Yields the sources of an Application: the items of spec.sources, or else spec.source, as Argo CD does."""
    spec = dig(application.body, "spec")
    several = [
        Source(application, ("spec", "sources", number), source) for number, source in items(dig(spec, "sources"))
    ]
    if several:
        yield from several
    elif isinstance(single := dig(spec, "source"), dict):
        yield Source(application, ("spec", "source"), single)


class Delivery:
    """The sources of all Applications, and the folders of all objects."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self.sources = tuple(
            source for application in objects.of(ARGO, "Application") for source in sources(application)
        )

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
        return {chart for source in self.sources if (chart := source.chart)}


def _ancestors(folder: str) -> Iterator[str]:
    """Yields a folder and all of its parent folders, up to the root folder."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""
