"""Finds the programs of the control plane."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CHECKOUT_TOOLS = Path(__file__).resolve().parents[3] / "tools"
NAMES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "kueue",
    "karpenter-kwok",
    "gatekeeper",
)
DATA = ("kueue-webhooks.yaml", "kueue-crds", "gatekeeper-crds", "karpenter-crds", "karpenter-kwok-crds")


class MissingProgramsError(Exception):
    """Missing programs. The message names the programs and the command that builds the programs."""


@dataclass(frozen=True)
class Programs:
    """A folder with the built programs of the control plane."""

    folder: Path

    def path(self, name: str) -> Path:
        """Returns the path of a program's executable."""
        return self.folder / "bin" / name

    def data(self, name: str) -> Path:
        """Returns the path of a program's data: CustomResourceDefinitions or webhook configurations."""
        return self.folder / "data" / name

    def missing(self) -> tuple[str, ...]:
        """Returns the names of missing programs and of missing data."""
        binaries = [name for name in NAMES if not os.access(self.path(name), os.X_OK)]
        return (*binaries, *(name for name in DATA if not self.data(name).exists()))


def find_programs() -> Programs:
    """Returns the programs of the control plane.

    The folder is GPUC_TOOLS if the variable is set. Otherwise the folder is the output folder of tools/build.py in a
    checkout of gpuc. Without a checkout, the folder is `current` or the newest folder in the cache.

    Raises:
        MissingProgramsError: if a program is missing.
    """
    programs = Programs(_folder())
    if missing := programs.missing():
        raise MissingProgramsError(
            f"The rehearsal needs programs that are not in {programs.folder}: {', '.join(missing)}; "
            "run `make tools` in a checkout of gpuc, or set GPUC_TOOLS to the folder of the programs."
        )
    return programs


def _folder() -> Path:
    if chosen := os.environ.get("GPUC_TOOLS"):
        return Path(chosen).expanduser().absolute()
    if (CHECKOUT_TOOLS / "build.py").is_file():
        return _checkout_folder()
    cache = cache_root() / "tools"
    current = cache / "current"
    return current if current.exists() else _newest(cache.glob("*/bin"), cache)


def cache_root() -> Path:
    """Returns gpuc's folder in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuc"


def _newest(bin_folders: Iterable[Path], default: Path) -> Path:
    return max((path.parent for path in bin_folders), key=lambda path: path.stat().st_mtime, default=default)


def _checkout_folder() -> Path:
    """Returns the output folder of the checkout's tools/build.py. The name depends on versions and build flags."""
    from subprocess import run
    from sys import executable

    printed = run([executable, str(CHECKOUT_TOOLS / "build.py"), "--where"], capture_output=True, text=True, check=True)
    return Path(printed.stdout.strip())
