"""Finds the root folder and the spec files for the arguments of a command."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError
from gpuc.diagnostics.words import first_names
from gpuc.documents.fleet_files import top_of_repository, yaml_files

if TYPE_CHECKING:
    from gpuc.catalog import Catalog


_MAX_NAMES = 12
"""The largest number of clusters in a message."""


def find_root(directory: Path) -> Path:
    """Returns the root of the fleet: the first folder that contains specs/, from the directory upwards.

    Raises:
        UsageError: when none of these directories contains specs/.
    """
    for folder in (directory, *directory.parents):
        if (folder / "specs").is_dir():
            return folder
    raise UsageError(f"no specs/ folder in {directory} or its parents; `gpuc init FOLDER` creates one")


def select(root: Path, directory: Path, specs: Sequence[str]) -> list[str] | None:
    """Returns the spec files that paths and cluster names mean, relative to the root; None for all clusters.

    Args:
        directory: the directory to which the paths are relative, usually the current directory.
        specs: paths and cluster names; empty for all clusters.

    Raises:
        UsageError: when a path is not a file below specs/, or a cluster does not exist.
    """
    if not specs:
        return None
    return list(dict.fromkeys(_file(root, directory, spec) for spec in specs))


def selected(specs: Sequence[str]) -> tuple[Path, list[str]]:
    """Returns the root of the current fleet, and the spec files that paths and cluster names mean.

    Args:
        specs: paths and cluster names; empty for all clusters.

    Raises:
        UsageError: outside of a fleet, when a path is not a file below specs/, or a cluster does not exist.
    """
    from gpuc.source import cluster_files

    root = find_root(Path.cwd())
    return root, select(root, Path.cwd(), specs) or cluster_files(root)


def only_spec(specs: Sequence[str], command: str) -> tuple[Path, str]:
    """Returns the root of the fleet and the spec file, for a command that works with only one cluster.

    Raises:
        UsageError: when `selected` raises it; when the arguments are not exactly one cluster; or when there are no
            arguments and the fleet has several clusters.
    """
    root, files = selected(specs)
    if len(files) != 1:
        raise UsageError(f"gpuc {command} requires one cluster of {', '.join(Path(file).stem for file in files)}")
    return root, files[0]


def is_in_specs(path: str) -> bool:
    """Returns whether a path is below the folder specs/ of the current fleet."""
    try:
        specs = find_root(Path.cwd()) / "specs"
    except UsageError:
        return False
    return Path(os.path.normpath(Path.cwd() / path)).is_relative_to(specs)


def current_catalog() -> "Catalog":
    """Returns the catalog of the current fleet, with its own entries; outside of a fleet, the catalog of gpuc.

    Raises:
        UsageError: when a file in specs/catalog/ has errors.
    """
    from gpuc.catalog import load
    from gpuc.diagnostics.finding import StageError
    from gpuc.pipeline.fleet_catalog import fleet_catalog

    try:
        root = find_root(Path.cwd())
    except UsageError:
        return load()
    try:
        return fleet_catalog(root).catalog
    except StageError as error:
        first = next(finding for finding in error.findings if finding.is_error)
        more = "; `gpuc check` shows all findings" if len(error.findings) > 1 else ""
        raise UsageError(f"{first.mark}: {first.message}{more}") from None


def repository_prefix(root: Path) -> str:
    """Returns the path of the fleet's root in its Git repository, for example "infra/fleet/".

    The result is the empty string if the fleet is at the top of the repository, or not in a repository.
    """
    relative = root.relative_to(top_of_repository(root) or root).as_posix()
    return "" if relative == "." else f"{relative}/"


def _file(root: Path, directory: Path, spec: str) -> str:
    """Returns the file of a path or of the name of a cluster, relative to the root."""
    if "/" in spec or spec.endswith((".yaml", ".yml")):
        return _path(root, directory, spec)
    matches = [file for file in yaml_files(root) if Path(file).stem == spec]
    if len(matches) > 1:
        raise UsageError(f"{spec} is ambiguous: give the path {' or '.join(matches)}")
    if not matches:
        raise UsageError(f"no cluster {spec} in specs/{_alternatives(root, spec)}")
    return matches[0]


def _alternatives(root: Path, spec: str) -> str:
    """Returns the end of a message about an unknown cluster: the most similar name, or the clusters of the fleet."""
    from gpuc.source import cluster_files

    names = sorted({Path(file).stem for file in cluster_files(root)})
    if suggestion := did_you_mean(spec, names):
        return suggestion
    if len(names) == 1:
        return f"; the only cluster is {names[0]}"
    return f"; the clusters are {first_names(names, _MAX_NAMES)}" if names else ", which has no clusters"


def _path(root: Path, directory: Path, spec: str) -> str:
    path = Path(os.path.normpath(directory / spec))
    if not path.is_relative_to(root / "specs"):
        raise UsageError(f"{spec} is not below {root / 'specs'}, the specs of this fleet")
    relative = path.relative_to(root).as_posix()
    if path.is_dir():
        raise UsageError(f"{spec} is a folder: give spec files or cluster names, or no argument for all clusters")
    if not path.is_file():
        raise UsageError(f"no file {spec}{did_you_mean(relative, yaml_files(root))}")
    return relative
