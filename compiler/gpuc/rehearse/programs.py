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
    """Programs are missing; the text names them and how to build them."""


@dataclass(frozen=True)
class Programs:
    """A folder with built programs."""

    folder: Path

    def path(self, name: str) -> Path:
        """The executable of a program."""
        return self.folder / "bin" / name

    def data(self, name: str) -> Path:
        """A file or folder with data of a program: CustomResourceDefinitions, webhook configurations."""
        return self.folder / "data" / name

    def missing(self) -> tuple[str, ...]:
        """Names of missing programs and data."""
        binaries = [name for name in NAMES if not os.access(self.path(name), os.X_OK)]
        return (*binaries, *(name for name in DATA if not self.data(name).exists()))


def find_programs() -> Programs:
    """The programs in GPUC_TOOLS, else those of the checkout's versions, else the newest ones in the cache.

    Raises:
        MissingProgramsError: if a program is missing.
    """
    programs = Programs(_folder())
    if missing := programs.missing():
        raise MissingProgramsError(
            f"The rehearsal needs programs that are not in {programs.folder}: {', '.join(missing)}; "
            "`make tools` in a checkout of gpuc builds them, and GPUC_TOOLS names another folder."
        )
    return programs


def _folder() -> Path:
    if chosen := os.environ.get("GPUC_TOOLS"):
        return Path(chosen).expanduser().absolute()
    if (CHECKOUT_TOOLS / "build.py").is_file():
        return _of_checkout()
    cache = cache_root() / "tools"
    current = cache / "current"
    return current if current.exists() else _newest(cache.glob("*/bin"), cache)


def cache_root() -> Path:
    """gpuc's folder in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuc"


def _newest(folders: Iterable[Path], otherwise: Path) -> Path:
    return max((path.parent for path in folders), key=lambda path: path.stat().st_mtime, default=otherwise)


def _of_checkout() -> Path:
    """The output folder of the checkout's tools/build.py, whose name depends on versions and build flags."""
    from subprocess import run
    from sys import executable

    printed = run([executable, str(CHECKOUT_TOOLS / "build.py"), "--where"], capture_output=True, text=True, check=True)
    return Path(printed.stdout.strip())
