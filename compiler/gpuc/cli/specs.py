"""Which folder and which spec files a command means."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError


def find_root(directory: Path) -> Path:
    """The folder that holds specs/: the directory itself or the nearest one above it.

    Raises:
        UsageError: when there is none.
    """
    for folder in (directory, *directory.parents):
        if (folder / "specs").is_dir():
            return folder
    raise UsageError(f"no specs/ folder in {directory} or above it; `gpuc init DIR` writes one")


def select(root: Path, directory: Path, specs: Sequence[str]) -> list[str] | None:
    """The spec files that paths (relative to the directory) and cluster names mean, relative to the root.

    None, which stands for every cluster, when nothing is named.

    Raises:
        UsageError: when one is not a file below specs/.
    """
    if not specs:
        return None
    return list(dict.fromkeys(_file(root, directory, spec) for spec in specs))


def repository_prefix(root: Path) -> str:
    """Where the root lies in the Git repository around it: "infra/fleet/"; "" at its top or outside one."""
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            relative = root.relative_to(folder).as_posix()
            return "" if relative == "." else f"{relative}/"
    return ""


def _file(root: Path, directory: Path, spec: str) -> str:
    if "/" in spec or spec.endswith((".yaml", ".yml")):
        return _path(root, directory, spec)
    files = _spec_files(root)
    named = [file for file in files if Path(file).stem == spec]
    if not named:
        raise UsageError(f"no cluster {spec} in specs/{did_you_mean(spec, (Path(file).stem for file in files))}")
    if len(named) > 1:
        raise UsageError(f"{spec} means {' or '.join(named)}: name the file")
    return named[0]


def _path(root: Path, directory: Path, spec: str) -> str:
    path = Path(os.path.normpath(directory / spec))
    if not path.is_relative_to(root / "specs"):
        raise UsageError(f"{spec} is not below {root / 'specs'}, the specs of this fleet")
    relative = path.relative_to(root).as_posix()
    if path.is_dir():
        raise UsageError(f"{spec} is a folder: name files or clusters, or nothing for all")
    if not path.is_file():
        raise UsageError(f"no file {spec}{did_you_mean(relative, _spec_files(root))}")
    return relative


def _spec_files(root: Path) -> list[str]:
    found = (path for path in (root / "specs").rglob("*") if path.suffix in {".yaml", ".yml"})
    return sorted(path.relative_to(root).as_posix() for path in found)
