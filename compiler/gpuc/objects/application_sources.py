"""Where Argo CD's Applications take objects from: folders of the tree's own repository, and charts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items

ARGO = "argoproj.io"


class Source(NamedTuple):
    """One source of an Application."""

    application: Manifest
    path: Path
    """Where it stands in the Application."""
    value: Any

    @property
    def repository(self) -> str:
        """Its repoURL, without what may be left out."""
        url = dig(self.value, "repoURL")
        return url.lower().removesuffix("/").removesuffix(".git") if isinstance(url, str) else ""

    @property
    def folder(self) -> str | None:
        """The folder that is synced, as files of the tree have it; None for a chart, or files that are only values."""
        folder = dig(self.value, "path")
        if not isinstance(folder, str) or dig(self.value, "chart") is not None:
            return None
        return folder.strip("/").removeprefix("./").removesuffix("/.").strip(".")

    @property
    def chart(self) -> str | None:
        """The name of the Helm chart."""
        name = dig(self.value, "chart")
        return name if isinstance(name, str) else None

    @property
    def is_recursive(self) -> bool:
        """Whether folders below the folder are synced too."""
        return dig(self.value, "directory", "recurse") is True


def sources(application: Manifest) -> Iterator[Source]:
    """The sources of an Application; where there are several, Argo CD does not read the single one."""
    spec = dig(application.body, "spec")
    several = [Source(application, ("spec", "sources", number), each) for number, each in items(dig(spec, "sources"))]
    if several:
        yield from several
    elif isinstance(single := dig(spec, "source"), dict):
        yield Source(application, ("spec", "source"), single)


class Delivery:
    """All sources of a tree, and the folders of its files."""

    def __init__(self, tree: ObjectSet) -> None:
        self._tree = tree
        self.sources = tuple(each for one in tree.of(ARGO, "Application") for each in sources(one))

    @cached_property
    def objects(self) -> dict[str, list[Manifest]]:
        """The objects of every folder."""
        found: dict[str, list[Manifest]] = {}
        for manifest in self._tree.manifests:
            found.setdefault(manifest.file.rpartition("/")[0], []).append(manifest)
        return found

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """The folders below every folder, the folder itself among them where it has files."""
        found: dict[str, list[str]] = {}
        for folder in self.objects:
            for above in _lineage(folder):
                found.setdefault(above, []).append(folder)
        return found

    def held(self, source: Source) -> list[str]:
        """The folders of the tree that a source syncs."""
        folder = source.folder
        if folder is None:
            return []
        if source.is_recursive:
            return self._below.get(folder, [])
        return [folder] if folder in self.objects else []

    @cached_property
    def delivered(self) -> set[str]:
        """All folders that some source syncs."""
        return {folder for source in self.sources for folder in self.held(source)}

    @cached_property
    def repositories(self) -> set[str]:
        """The repositories that hold files of this tree: those of sources that sync some."""
        return {source.repository for source in self.sources if self.held(source)}

    @cached_property
    def charts(self) -> set[str]:
        """The Helm charts that are installed."""
        return {chart for source in self.sources if (chart := source.chart)}


def _lineage(folder: str) -> Iterator[str]:
    """A folder and all above it, the root of the tree last."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""
