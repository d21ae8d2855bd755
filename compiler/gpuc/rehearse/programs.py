"""Finds the programs of the control plane."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuc.tools.selection import OTHERS, REHEARSAL, Selection

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

    def missing(self, names: Iterable[str] = NAMES, data: Iterable[str] = DATA) -> tuple[str, ...]:
        """Returns the names of missing programs and of missing data."""
        binaries = [name for name in names if not os.access(self.path(name), os.X_OK)]
        return (*binaries, *(name for name in data if not self.data(name).exists()))


def find_programs() -> Programs:
    """Returns the programs of the control plane, which `gpuc tools` builds.

    Raises:
        MissingProgramsError: if a program is missing.
    """
    return _find(REHEARSAL, "the rehearsal needs", NAMES, DATA)


def find_lws_programs() -> Programs:
    """Returns the controller of LeaderWorkerSets, which `gpuc tools --lws` builds, from the folder lws.

    Raises:
        MissingProgramsError: if the program or its data is missing.
    """
    return _find_controller("lws", "LeaderWorkerSets")


def find_jobset_programs() -> Programs:
    """Returns the controller of JobSets, which `gpuc tools --jobset` builds, from the folder jobset.

    Raises:
        MissingProgramsError: if the program or its data is missing.
    """
    return _find_controller("jobset", "JobSets")


def _find_controller(name: str, workloads: str) -> Programs:
    return _find(OTHERS[name], f"{workloads} need", (name,), (f"{name}-crds", f"{name}-webhooks.yaml"))


def _find(selection: Selection, user: str, names: Iterable[str], data: Iterable[str]) -> Programs:
    programs = Programs(selection.home())
    if missing := programs.missing(names, data):
        raise MissingProgramsError(missing_programs(selection, user, missing))
    return programs


def missing_programs(selection: Selection, user: str, missing: Iterable[str]) -> str:
    """Returns the message about missing programs. `user` is the subject and the verb, for example "JobSets need"."""
    return (
        f"{user} programs that are not in {selection.home()}: {', '.join(missing)}; "
        f"run `{selection.command}`, which builds the programs with Go, or set GPUC_TOOLS to the folder of the programs"
    )
