"""Finds the programs that `gpuc tools` builds: those of the control plane, of Argo CD, and of gpuc's tests."""

import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct

from gpuc.diagnostics.usage import UsageError
from gpuc.emit.component import components_on
from gpuc.emit.component_facts import Rehearsal
from gpuc_rehearsal.tools.selection import OTHERS, REHEARSAL, Selection


def rehearsals(substrates: Collection[str] | None = None) -> tuple[Rehearsal, ...]:
    """Returns, for each component that a rehearsal runs, for example Kueue, the facts about its program.

    substrates: the folders of the substrates of the clusters; None for all substrates.
    """
    return tuple(component.rehearsal for component in components_on(substrates) if component.rehearsal)


REHEARSALS = rehearsals()
NAMES = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok",
    *(rehearsal.program for rehearsal in REHEARSALS),
)  # fmt: skip
ARGO_NAMES, ARGO_DATA = ("argocd", "helm"), ("argocd-crds", "argocd-config", "charts")
FROM_PATH = {"redis-server": "the package redis-server (Linux) or redis (Homebrew)", "git": "the package git"}
DATA = tuple(name for rehearsal in REHEARSALS for name in (rehearsal.definitions, *rehearsal.data))


class MissingProgramsError(UsageError):
    """The error if programs are missing. The message names the programs, and the command that builds them."""


class Programs(Struct, frozen=True):
    """A folder with programs that `gpuc tools` built, and with the files that these programs need."""

    folder: Path

    def path(self, name: str) -> Path:
        """Returns the path of the executable file of a program."""
        return self.folder / "bin" / name

    def data(self, name: str) -> Path:
        """Returns the path of a file or folder that a program needs, for example of its CustomResourceDefinitions."""
        return self.folder / "data" / name

    def missing(self, names: Iterable[str] = NAMES, data: Iterable[str] = DATA) -> tuple[str, ...]:
        """Returns the names of the programs and files that the folder lacks; empty if it has all of them."""
        binaries = [name for name in names if not os.access(self.path(name), os.X_OK)]
        return (*binaries, *(name for name in data if not self.data(name).exists()))


class ArgoPrograms(Programs, frozen=True):
    """A folder with Argo CD and Helm, which `gpuc tools --argocd` builds, and the paths of Redis and git.

    The folder also has CustomResourceDefinitions, the configuration of Argo CD, and charts.
    """

    redis: Path
    git: Path


def find_programs(substrates: Collection[str] | None = None) -> Programs:
    """Returns the programs of the control plane. Raises MissingProgramsError if a program was not built.

    substrates: the folders of the substrates of the clusters; None for all substrates.
    """
    unused = set(REHEARSALS) - set(rehearsals(substrates))
    left_out = {name for row in unused for name in (row.program, row.definitions, *row.data)}
    names, data = ([name for name in group if name not in left_out] for group in (NAMES, DATA))
    return Programs(_find(REHEARSAL, "the rehearsal needs", names, data))


def find_controller(name: str, workloads: str) -> Programs:
    """Returns the program of a controller of workloads, such as JobSet, which `gpuc tools --NAME` builds.

    Raises MissingProgramsError if the program was not built.
    """
    return Programs(_find(OTHERS[name], f"{workloads} need", (name,), OTHERS[name].tables["data"]))


def find_argo_programs() -> ArgoPrograms:
    """Returns Argo CD, Helm, Redis and git. Raises MissingProgramsError if one of them is missing."""
    folder = _find(OTHERS["argocd"], "--argocd needs", ARGO_NAMES, ARGO_DATA)
    found = {name: shutil.which(name) for name in FROM_PATH}
    for name, path in found.items():
        if path is None:
            raise MissingProgramsError(f"--argocd needs {name} on PATH. Install {FROM_PATH[name]}.")
    return ArgoPrograms(folder, Path(str(found["redis-server"])), Path(str(found["git"])))


def _find(selection: Selection, user: str, names: Iterable[str], data: Iterable[str]) -> Path:
    """Returns the folder of programs. `user` is the subject and the verb of the message, as in "JobSets need"."""
    if missing := Programs(selection.home()).missing(names, data):
        raise MissingProgramsError(
            f"{user} programs that are not in {selection.home()}: {', '.join(missing)}; run `{selection.command}`, "
            "which builds the programs with Go, or set GPUC_TOOLS to the folder of the programs"
        )
    return selection.home()
