"""Finds the programs Argo CD, Helm, redis and Git."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpuc.rehearse.programs import CHECKOUT_TOOLS, MissingProgramsError, cache_root

BUILT = ("argocd", "helm")
DATA = ("argocd-crds", "argocd-config", "charts")
FROM_PATH = {"redis-server": "package redis-server of a Linux distribution, redis of Homebrew", "git": "package git"}


@dataclass(frozen=True)
class ArgoPrograms:
    """The folder with built programs, and two programs from PATH."""

    folder: Path
    redis: Path
    git: Path

    def path(self, name: str) -> Path:
        """The binary of a program that `make tools-argocd` builds."""
        return self.folder / "bin" / name

    def data(self, name: str) -> Path:
        """A data folder of Argo CD: CRDs, configuration, or charts of the control plane's programs."""
        return self.folder / "data" / name


def find_argo_programs() -> ArgoPrograms:
    """The programs of GPUC_TOOLS/argocd, of the checkout's versions, or of the last build, in this order.

    Raises:
        MissingProgramsError: if a program is missing. The message explains how to install it.
    """
    folder = _folder()
    missing = [name for name in BUILT if not os.access(folder / "bin" / name, os.X_OK)]
    missing += [name for name in DATA if not (folder / "data" / name).is_dir()]
    if missing:
        raise MissingProgramsError(
            f"--argocd needs programs that are not in {folder}: {', '.join(missing)}; "
            "`make tools-argocd` in a checkout of gpuc builds them."
        )
    found = {name: shutil.which(name) for name in FROM_PATH}
    for name, path in found.items():
        if path is None:
            raise MissingProgramsError(f"--argocd needs {name} on PATH: {FROM_PATH[name]}.")
    return ArgoPrograms(folder, Path(str(found["redis-server"])), Path(str(found["git"])))


def _folder() -> Path:
    if chosen := os.environ.get("GPUC_TOOLS"):
        return Path(chosen).expanduser().absolute() / "argocd"
    if (CHECKOUT_TOOLS / "build.py").is_file():
        return _of_checkout()
    return cache_root() / "tools" / "argocd" / "current"


def _of_checkout() -> Path:
    from subprocess import run
    from sys import executable

    command = [executable, str(CHECKOUT_TOOLS / "build.py"), "--argocd", "--where"]
    return Path(run(command, capture_output=True, text=True, check=True).stdout.strip())
