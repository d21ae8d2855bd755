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
LWS_NAMES = ("lws",)
LWS_DATA = ("lws-crds", "lws-webhooks.yaml")


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

    def missing(self, names: Iterable[str] = NAMES, data: Iterable[str] = DATA) -> tuple[str, ...]:
        """Returns the names of missing programs and of missing data."""
        binaries = [name for name in names if not os.access(self.path(name), os.X_OK)]
        return (*binaries, *(name for name in data if not self.data(name).exists()))


def find_programs() -> Programs:
    """Returns the programs of the control plane.

    The folder is GPUC_TOOLS if the variable is set. Otherwise the folder is the output folder of tools/build.py in a
    checkout of gpuc. Without a checkout, the folder is `current` or the newest folder in the cache.

    Raises:
        MissingProgramsError: if a program is missing.
    """
    programs = Programs(tools_folder())
    if missing := programs.missing():
        raise MissingProgramsError(
            f"The rehearsal needs programs that are not in {programs.folder}: {', '.join(missing)}; "
            "run `make tools` in a checkout of gpuc, or set GPUC_TOOLS to the folder of the programs."
        )
    return programs


def find_lws_programs() -> Programs:
    """Returns the controller of LeaderWorkerSets, which `make tools-lws` builds, from the folder lws.

    Raises:
        MissingProgramsError: if the program or its data is missing.
    """
    programs = Programs(tools_folder("lws"))
    if missing := programs.missing(LWS_NAMES, LWS_DATA):
        raise MissingProgramsError(
            f"LeaderWorkerSets need programs that are not in {programs.folder}: {', '.join(missing)}; "
            "run `make tools-lws` in a checkout of gpuc, or set GPUC_TOOLS to the folder of the programs."
        )
    return programs


def tools_folder(part: str = "") -> Path:
    """Returns the folder of the programs that tools/build.py builds.

    part: argocd, lws or nodeadm for the programs of this option of tools/build.py, which have a subfolder.
    """
    if chosen := os.environ.get("GPUC_TOOLS"):
        return Path(chosen).expanduser().absolute() / part
    if (CHECKOUT_TOOLS / "build.py").is_file():
        return _checkout_folder(part)
    cache = cache_root() / "tools" / part
    current = cache / "current"
    return current if current.exists() else _newest(cache.glob("*/bin"), cache)


def cache_root() -> Path:
    """Returns gpuc's folder in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuc"


def _newest(bin_folders: Iterable[Path], default: Path) -> Path:
    return max((path.parent for path in bin_folders), key=lambda path: path.stat().st_mtime, default=default)


def _checkout_folder(part: str) -> Path:
    """Returns the output folder of the checkout's tools/build.py. The name depends on versions and build flags."""
    from subprocess import run
    from sys import executable

    command = [executable, str(CHECKOUT_TOOLS / "build.py"), "--where", *([f"--{part}"] if part else [])]
    return Path(run(command, capture_output=True, text=True, check=True).stdout.strip())
