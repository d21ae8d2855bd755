"""Finds the clusters of a fleet whose files differ from the files of an earlier state, for example of a Git commit."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gpuc.diagnostics.finding import StageError
from gpuc.documents.fleet_files import CATALOG, yaml_files
from gpuc.source import cluster_files, read_all
from gpuc.write.lockfile import LOCKFILE

_TOPS = ("specs", "policies", "out")
"""The folders with the causes of a change and its effects, in the order of the report."""


class ClusterFiles(Struct, frozen=True):
    """A cluster of a fleet, and the files of the cluster that differ from the state before."""

    name: str
    file: str
    """The spec file, relative to the root of the fleet."""
    is_new: bool
    """Whether the state before does not have the spec file of the cluster."""
    different: tuple[str, ...]
    """The files that differ, relative to the root: specs, layers, manifests and rows, then policies, then output."""

    @property
    def change(self) -> str:
        """The change of the cluster in one word: added, changed or unchanged."""
        return "added" if self.is_new else "changed" if self.different else "unchanged"


def compared_clusters(root: Path, before: Path) -> Iterator[ClusterFiles]:
    """Yields the clusters of a fleet, sorted by spec file, with the files that differ.

    A changed policy and a changed file in specs/catalog/ count for all clusters. A changed file in out/ counts only for
    the cluster of its folder. So a new version of gpuc counts as a change of those clusters whose objects differ. The
    file gpuc.lock does not count, because it contains no object.

    Args:
        root: the root of the fleet.
        before: a folder with the files of the state before.
    """
    different = list(_different(root, before))
    for file in cluster_files(root):
        name = Path(file).stem
        specs = {*_spec_files(root, file), *_spec_files(before, file)}
        own = (f"specs/{name}/", f"out/{name}/", f"specs/{CATALOG}/", "policies/")
        found = (path for path in different if path in specs or path.startswith(own))
        yield ClusterFiles(name, file, not (before / file).is_file(), tuple(found))


def _different(root: Path, before: Path) -> Iterator[str]:
    """Yields the paths of files that only one of the two folders has, or whose bytes differ."""
    for top in _TOPS:
        if top == "out" and not (before / top).is_dir():
            continue  # the state before is without output
        old, new = (set(_files(folder, top)) for folder in (before, root))
        same = {path for path in old & new if (before / path).read_bytes() == (root / path).read_bytes()}
        yield from sorted((old | new) - same)


def _files(root: Path, top: str) -> Iterator[str]:
    """Yields the regular files of a folder, relative to the root.

    Links do not count, because a revision contains no links.
    """
    for folder, _, names in os.walk(root / top):
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            is_page = top == "policies" and relative.count("/") < 2  # policies/README.md is not a policy
            if name != LOCKFILE and not is_page and path.is_file() and not path.is_symlink():
                yield relative


def _spec_files(root: Path, file: str) -> tuple[str, ...]:
    """Returns a spec file and its layers; all files in specs/ if the layers cannot be read."""
    if not (root / file).is_file():
        return ()
    try:
        return read_all(root, file).files
    except StageError:
        return tuple(yaml_files(root))
