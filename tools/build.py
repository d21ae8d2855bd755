"""Builds the programs of `gpuc rehearse` into the user's cache. tools/*/go.mod pins their versions."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent
BUILD_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off"}
MIB = 1 << 20


@dataclass(frozen=True)
class Program:
    """A binary: its source and the argument of a test run. programs.toml explains the fields."""

    name: str
    folder: str
    module: str
    argument: str
    package: str = ""
    stamp: dict[str, str] = field(default_factory=dict)
    prints: bool = True

    def go_mod(self) -> str:
        return (TOOLS / self.folder / "go.mod").read_text()

    def version(self) -> str:
        """The pinned version, such as v1.2.3. Raises: SystemExit when go.mod does not name the module."""
        found = re.search(rf"^(?:require )?\s*{re.escape(self.module)} (v\S+)", self.go_mod(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"tools/{self.folder}/go.mod does not pin {self.module}.")
        return found[1]

    def linker_flags(self) -> str:
        version = self.version()
        major, minor = version.removeprefix("v").split(".")[:2]
        stamps = (f"-X {name}={value}" for name, value in self.stamp.items())
        number = version.removeprefix("v")
        return " ".join(("-s -w", *stamps)).format(version=version, number=number, major=major, minor=minor)


@dataclass(frozen=True)
class Selection:
    """The programs of one programs.toml, which are built into one folder."""

    table: Path
    below: str = ""
    """The folder of the programs below the cache, and below GPUC_TOOLS."""

    @cached_property
    def tables(self) -> dict[str, Any]:
        return tomllib.loads(self.table.read_text())

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        return tuple(Program(name, **fields) for name, fields in self.tables["program"].items())

    @property
    def cache(self) -> Path:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuc" / "tools" / self.below

    def home(self) -> Path:
        """The folder with bin/ and data/: GPUC_TOOLS, or a cache folder named after a hash of pins and flags."""
        if chosen := os.environ.get("GPUC_TOOLS"):
            return Path(chosen).expanduser().absolute() / self.below
        digest = hashlib.sha256(repr((BUILD_FLAGS, ENVIRONMENT, [p.linker_flags() for p in self.programs])).encode())
        folder = self.table.parent
        for pins in sorted((self.table, *folder.glob("*/go.mod"), *folder.glob("*/go.sum"))):
            digest.update(pins.relative_to(folder).as_posix().encode() + b"\0" + pins.read_bytes() + b"\0")
        for part in self.tables.get("chart", {}).values():
            digest.update((TOOLS / part["folder"] / "go.mod").read_bytes())
        return self.cache / digest.hexdigest()[:16]


REHEARSAL = Selection(TOOLS / "programs.toml")
ARGO_CD = Selection(TOOLS / "argocd" / "programs.toml", "argocd")
LEADER_WORKER_SET = Selection(TOOLS / "lws" / "programs.toml", "lws")
NODEADM = Selection(TOOLS / "nodeadm" / "programs.toml", "nodeadm")


def go(folder: str, *arguments: str) -> str:
    """Runs go in a folder below tools/ and returns its output. Raises: subprocess.CalledProcessError."""
    environment = os.environ | ENVIRONMENT
    return subprocess.run(
        ("go", *arguments), cwd=TOOLS / folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def require_go(programs: Iterable[Program]) -> None:
    """Raises: SystemExit when Go is missing or older than a go.mod requires."""
    wanted = {p.folder: re.findall(r"^go (\S+)", p.go_mod(), re.MULTILINE)[0] for p in programs}
    folder = max(wanted, key=lambda name: release(wanted[name]))
    install = f"install Go {wanted[folder]} or newer and run this again"
    if shutil.which("go") is None:
        raise SystemExit(f"Go is required to build the programs and is not installed: {install}.")
    try:
        found = go(folder, "env", "GOVERSION").strip()
    except subprocess.CalledProcessError as refusal:
        raise SystemExit(f"This Go is too old for tools/{folder} ({refusal.stderr.strip()}): {install}.") from None
    if release(found) < release(wanted[folder]):
        raise SystemExit(f"{found} is too old for tools/{folder}: {install}.")


def release(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def build(program: Program, binary: Path, label: str) -> None:
    """Builds a binary and replaces the old one atomically. Raises: SystemExit with the compiler's last lines."""
    unfinished = binary.with_name(f".{binary.name}.{os.getpid()}")
    package = "/".join(filter(None, (program.module, program.package)))
    flags = (*BUILD_FLAGS, f"-ldflags={program.linker_flags()}")
    started = time.monotonic()
    with subprocess.Popen(
        ("go", "build", "-v", *flags, "-o", unfinished, package),
        cwd=TOOLS / program.folder,
        env=os.environ | ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            last_lines = follow(process, label, started)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise SystemExit("\n".join(("", *last_lines, f"{program.name} {program.version()} could not be built.")))
    unfinished.replace(binary)
    show(label, f": {(time.monotonic() - started) / 60:.1f} min, {binary.stat().st_size / MIB:.0f} MiB", end="\n")


def follow(process: subprocess.Popen[str], label: str, started: float) -> deque[str]:
    """Shows the number of built packages and the time; returns the last lines of the output for an error message."""
    assert process.stderr is not None
    last_lines: deque[str] = deque(maxlen=30)
    packages = 0
    for line in process.stderr:
        last_lines.append(line.rstrip())
        packages += not line.startswith("go: ")
        if sys.stdout.isatty():
            show(label, f": {packages} packages, {(time.monotonic() - started) / 60:.1f} min")
    return last_lines


def show(label: str, text: str, end: str = "") -> None:
    """Completes the line that begins with the label; a terminal overwrites the line."""
    print(f"\r{label}{text}\033[K" if sys.stdout.isatty() else text, end=end, flush=True)


def describe(selection: Selection, target: Path) -> None:
    """Writes the versions and the manifests that the rehearsal reads, so that the rehearsal needs no Go."""
    sources = {}
    for name, part in selection.tables.get("data", {}).items():
        source = Path(module(part)["Dir"]) / part["path"]
        sources[name] = str(source)
        for file in source.glob("*.yaml") if source.is_dir() else (source,):
            write(target / "data" / name / file.relative_to(source), file.read_bytes())
    for name, part in selection.tables.get("chart", {}).items():
        found = module(part)
        source = Path(found["Dir"]) / part["path"]
        sources[name] = str(source)
        package(target, source, found["Version"].removeprefix("v"))
    versions = {program.name: program.version() for program in selection.programs}
    write(target / "versions.json", json.dumps(versions, indent=2).encode() + b"\n")
    write(target / "data.json", json.dumps(sources, indent=2).encode() + b"\n")


def module(part: dict[str, str]) -> dict[str, str]:
    """The module of a file, a folder or a chart: its Version, and Dir, its folder in Go's cache."""
    found: dict[str, str] = json.loads(go(part["folder"], "mod", "download", "-json", part["module"]))
    return found


def package(target: Path, chart: Path, version: str) -> None:
    """Packages a chart with the version of its module, because the version in Chart.yaml may be older."""
    charts = target / "data" / "charts"
    charts.mkdir(parents=True, exist_ok=True)
    command = (target / "bin" / "helm", "package", chart, "--version", version, "--destination", charts)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def problem_of(program: Program, binary: Path) -> str | None:
    """Why a binary is not the pinned program; None if it starts and prints the pinned version."""
    try:
        command = (str(binary), *program.argument.split())
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{binary} does not start: {error}"
    printed = (run.stdout + run.stderr).strip()
    if run.returncode != 0:
        return f"{binary} {program.argument} exits with code {run.returncode}: {printed[-300:]}"
    if program.prints and program.version().removeprefix("v") not in printed:
        return f"{binary} is not {program.version()}: it prints {printed[:100]!r}"
    return None


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Locks the folder against other builds, and removes unfinished files of a killed build."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in (target / "bin").glob(".*"):
            leftover.unlink()
        yield


def build_missing(selection: Selection, target: Path) -> None:
    """Builds the missing programs, then runs every program once. Raises: SystemExit with the problems."""
    binaries, programs = target / "bin", selection.programs
    missing = [program for program in programs if not (binaries / program.name).exists()]
    if missing or not (target / "data.json").exists():
        require_go(programs)
        binaries.mkdir(exist_ok=True)
        for program in missing:
            label = f"[{programs.index(program) + 1:2}/{len(programs)}] {program.name} {program.version()}"
            print(label, end="", flush=True)
            build(program, binaries / program.name, label)
        describe(selection, target)
    problems = [problem_of(program, binaries / program.name) for program in programs]
    if any(problems):
        raise SystemExit("\n".join(filter(None, problems)))
    print(f"{len(programs)} programs are ready in {target}")


def point_current_at(target: Path) -> None:
    """Points the link `current` at the folder, for a gpuc that runs without this checkout."""
    link = target.with_name(f".current.{os.getpid()}")
    link.symlink_to(target.name)
    link.replace(target.with_name("current"))


def list_programs(selection: Selection, target: Path) -> None:
    for program in selection.programs:
        binary = target / "bin" / program.name
        state = f"{binary.stat().st_size / MIB:.0f} MiB" if binary.exists() else "missing"
        print(f"{program.name:24} {program.version():10} {state}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="build.py", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the programs, their versions and sizes")
    parser.add_argument("--where", action="store_true", help="print the folder with bin/ and data/")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--argocd", action="store_true", help="build Argo CD and Helm instead of the control plane")
    other.add_argument("--lws", action="store_true", help="build the controller of LeaderWorkerSets instead")
    other.add_argument("--nodeadm", action="store_true", help="build nodeadm and kubectl instead")
    arguments = parser.parse_args()
    others = {arguments.argocd: ARGO_CD, arguments.lws: LEADER_WORKER_SET, arguments.nodeadm: NODEADM}
    selection = others.get(True, REHEARSAL)
    target = selection.home()
    if arguments.where:
        print(target)
        return 0
    if arguments.list:
        list_programs(selection, target)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with alone(target):
            build_missing(selection, target)
    except KeyboardInterrupt:
        print("\nStopped. The next run continues with the missing programs.")
        return 130
    except OSError as error:
        raise SystemExit(f"The programs cannot be written: {error}") from None
    if target.parent == selection.cache:
        point_current_at(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
