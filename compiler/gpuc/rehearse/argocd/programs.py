"""Finds the programs Argo CD, Helm, redis and Git."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpuc.rehearse.programs import MissingProgramsError, missing_programs
from gpuc.tools.selection import OTHERS

BUILT = ("argocd", "helm")
DATA = ("argocd-crds", "argocd-config", "charts")
FROM_PATH = {"redis-server": "the package redis-server (Linux) or redis (Homebrew)", "git": "the package git"}


@dataclass(frozen=True)
class ArgoPrograms:
    """Paths of the programs: a folder with built programs, and two programs on PATH."""

    folder: Path
    redis: Path
    git: Path

    def path(self, name: str) -> Path:
        """Returns the path of a program that `gpuc tools --argocd` builds."""
        return self.folder / "bin" / name

    def data(self, name: str) -> Path:
        """Returns a data folder: argocd-crds, argocd-config, or charts (Kueue, Gatekeeper and Karpenter)."""
        return self.folder / "data" / name


def find_argo_programs() -> ArgoPrograms:
    """Finds the programs that `gpuc tools --argocd` builds, and the programs on PATH.

    Raises:
        MissingProgramsError: if a program is missing. The message explains how to install the program.
    """
    folder = OTHERS["argocd"].home()
    missing = [name for name in BUILT if not os.access(folder / "bin" / name, os.X_OK)]
    missing += [name for name in DATA if not (folder / "data" / name).is_dir()]
    if missing:
        raise MissingProgramsError(missing_programs(OTHERS["argocd"], "--argocd needs", missing))
    found = {name: shutil.which(name) for name in FROM_PATH}
    for name, path in found.items():
        if path is None:
            raise MissingProgramsError(f"--argocd needs {name} on PATH. Install {FROM_PATH[name]}.")
    return ArgoPrograms(folder, Path(str(found["redis-server"])), Path(str(found["git"])))
