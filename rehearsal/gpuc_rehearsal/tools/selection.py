"""The programs that gpuc builds with Go: the source, the version and the folder of each program."""

import hashlib
import os
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuc.manifest.cache_folder import cache_folder

PINS = Path(__file__).resolve().parent / "programs"
"""The folder with a go.mod and a go.sum for each program."""
BUILD_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off"}
"""The environment variables of all builds."""


class BuildError(Exception):
    """The error if a program cannot be built, or if a built program has another version than the pinned version."""


class Program(Struct, frozen=True):
    """A program that gpuc builds with Go. The file programs/programs.toml explains the attributes."""

    name: str
    folder: str
    """The folder with go.mod and go.sum, below programs/."""
    module: str
    argument: str
    package: str = ""
    stamp: dict[str, str] = field(default_factory=dict)
    prints: bool = True
    tags: str = ""
    is_own: bool = False

    def go_mod(self) -> str:
        """Returns the text of the program's go.mod, which pins the versions of modules."""
        return (PINS / self.folder / "go.mod").read_text("utf-8")

    def version(self) -> str:
        """Returns the version of the program in go.mod, for example v1.2.3.

        Raises:
            BuildError: when go.mod does not name the module.
        """
        found = re.search(rf"^(?:require )?\s*{re.escape(self.module)} (v\S+)", self.go_mod(), re.MULTILINE)
        if found is None:
            raise BuildError(f"{PINS / self.folder / 'go.mod'} has no version of {self.module}")
        return found[1]

    def linker_flags(self) -> str:
        """Returns the flags of the Go linker, which write the version into the program."""
        version, number = self.version(), self.version().removeprefix("v")
        major, minor = number.split(".")[:2]
        stamps = (f"-X {name}={value}" for name, value in self.stamp.items())
        return " ".join(("-s -w", *stamps)).format(version=version, number=number, major=major, minor=minor)


class Selection(Struct, frozen=True, dict=True):
    """A group of programs that gpuc builds into one folder, for example Argo CD and Helm, from one programs.toml."""

    table: Path
    below: str
    """The subfolder of the cache, and of GPUC_TOOLS; empty for the programs of the rehearsal."""
    purpose: str
    """A description of the programs, for `gpuc tools --help`."""

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The tables of programs.toml: the programs to build, the files that the programs need, and Helm charts."""
        return tomllib.loads(self.table.read_text("utf-8"))

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The programs, in the order in which gpuc builds them."""
        return tuple(Program(name, **fields) for name, fields in self.tables["program"].items())

    @property
    def command(self) -> str:
        """The command that builds the programs, for example "gpuc tools --argocd"."""
        return f"gpuc tools --{self.below}" if self.below else "gpuc tools"

    def home(self) -> Path:
        """Returns the folder of the built programs: the folder GPUC_TOOLS, or a folder in the user's cache.

        The name of the folder in the cache is a hash of the versions and of the build flags. So gpuc never uses
        programs of another version.
        """
        if chosen := os.environ.get("GPUC_TOOLS"):
            return Path(chosen).expanduser().absolute() / self.below
        return Path(cache_folder("tools")) / self.below / self._digest()

    def _digest(self) -> str:
        digest = hashlib.sha256(repr((BUILD_FLAGS, ENVIRONMENT, [p.linker_flags() for p in self.programs])).encode())
        folder = self.table.parent
        files = (file for pattern in ("go.mod", "go.sum", "*.go") for file in folder.glob(f"*/{pattern}"))
        for pins in sorted((self.table, *files)):
            digest.update(pins.relative_to(folder).as_posix().encode() + b"\0" + pins.read_bytes() + b"\0")
        for part in self.tables.get("chart", {}).values():
            digest.update((PINS / part["folder"] / "go.mod").read_bytes())
        return digest.hexdigest()[:16]


REHEARSAL = Selection(PINS / "programs.toml", "", "the control plane of `gpuc rehearse`")
OTHERS = {
    name: Selection(PINS / name / "programs.toml", name, purpose)
    for name, purpose in {
        "argocd": "Argo CD and Helm, for `gpuc rehearse --argocd`",
        "jobset": "the controller of JobSets, for the tests of gpuc",
        "karpenter-hash": "the hash functions of Karpenter, for the tests of gpuc",
        "kuberay": "the operator of KubeRay, for the tests of gpuc",
        "lws": "the controller of LeaderWorkerSets, for the tests of gpuc",
        "nfd": "the master of node feature discovery, for the tests of gpuc",
        "nodeadm": "nodeadm and kubectl, for the tests of gpuc",
        "promtool": "promtool, for the tests of gpuc",
        "trainer": "the controller of TrainJobs, for the tests of gpuc",
    }.items()
}
"""The other programs, by the option of `gpuc tools`."""
