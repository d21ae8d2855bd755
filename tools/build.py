"""Builds the control-plane programs of the rehearsal, pinned in tools/*/go.mod, into the user's cache."""

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
    """One binary: what it is built from and how it shows that it starts. programs.toml explains the fields."""

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
        """The pinned version, with its v. Raises: SystemExit when go.mod does not name the module."""
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
    """The programs of one table, which are built together into one folder."""

    table: Path
    below: str = ""
    """Where its folder lies below the cache, and below GPUC_TOOLS."""

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
        """The folder of bin/ and data/: GPUC_TOOLS, else the one in the cache for exactly these pins and flags."""
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


def go(folder: str, *arguments: str) -> str:
    """What the go command prints in a folder below tools/. Raises: subprocess.CalledProcessError."""
    environment = os.environ | ENVIRONMENT
    return subprocess.run(
        ("go", *arguments), cwd=TOOLS / folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def require_go(programs: Iterable[Program]) -> None:
    """Raises: SystemExit with one sentence when Go is missing or older than a go.mod asks for."""
    wanted = {p.folder: re.findall(r"^go (\S+)", p.go_mod(), re.MULTILINE)[0] for p in programs}
    folder = max(wanted, key=lambda name: release(wanted[name]))
    install = f"install Go {wanted[folder]} or newer and run this again"
    if shutil.which("go") is None:
        raise SystemExit(f"The rehearsal's programs are built with Go, which is not installed: {install}.")
    try:
        found = go(folder, "env", "GOVERSION").strip()
    except subprocess.CalledProcessError as refusal:
        raise SystemExit(f"This Go is too old for tools/{folder} ({refusal.stderr.strip()}): {install}.") from None
    if release(found) < release(wanted[folder]):
        raise SystemExit(f"{found} is too old for tools/{folder}: {install}.")


def release(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def build(program: Program, binary: Path, label: str) -> None:
    """Build one binary and put it in place in one step. Raises: SystemExit with the compiler's last words."""
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
            last_words = follow(process, label, started)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise SystemExit("\n".join(("", *last_words, f"{program.name} {program.version()} could not be built.")))
    unfinished.replace(binary)
    show(label, f": {(time.monotonic() - started) / 60:.1f} min, {binary.stat().st_size / MIB:.0f} MiB", end="\n")


def follow(process: subprocess.Popen[str], label: str, started: float) -> deque[str]:
    """Show how many packages are done and for how long; return the last lines, for an error."""
    assert process.stderr is not None
    last_words: deque[str] = deque(maxlen=30)
    packages = 0
    for line in process.stderr:
        last_words.append(line.rstrip())
        packages += not line.startswith("go: ")
        if sys.stdout.isatty():
            show(label, f": {packages} packages, {(time.monotonic() - started) / 60:.1f} min")
    return last_words


def show(label: str, words: str, end: str = "") -> None:
    """Finish the line that the label began; on a terminal write it anew."""
    print(f"\r{label}{words}\033[K" if sys.stdout.isatty() else words, end=end, flush=True)


def describe(selection: Selection, target: Path) -> None:
    """Lay beside the binaries what the rehearsal reads, so that it needs no Go: versions, manifests, their origin."""
    sources = {}
    for name, part in selection.tables["data"].items():
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
    """The module of a file, a folder or a chart: its Version, and the Dir where it lies in Go's cache."""
    found: dict[str, str] = json.loads(go(part["folder"], "mod", "download", "-json", part["module"]))
    return found


def package(target: Path, chart: Path, version: str) -> None:
    """Package a chart with the version of its module: the Chart.yaml in a repository may name an older one."""
    charts = target / "data" / "charts"
    charts.mkdir(parents=True, exist_ok=True)
    command = (target / "bin" / "helm", "package", chart, "--version", version, "--destination", charts)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def fault(program: Program, binary: Path) -> str | None:
    """Why a binary is not the pinned program, or None when it starts and prints the pinned version."""
    try:
        words = (str(binary), *program.argument.split())
        run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{binary} does not start: {error}"
    printed = (run.stdout + run.stderr).strip()
    if run.returncode != 0:
        return f"{binary} {program.argument} ends with code {run.returncode}: {printed[-300:]}"
    if program.prints and program.version().removeprefix("v") not in printed:
        return f"{binary} is not {program.version()}: it prints {printed[:100]!r}"
    return None


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Let one build at a time write to the folder, and remove what a killed one left half done."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in (target / "bin").glob(".*"):
            leftover.unlink()
        yield


def build_missing(selection: Selection, target: Path) -> None:
    """Build what is missing, then run every program once. Raises: SystemExit with what went wrong."""
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
    if faults := [words for program in programs if (words := fault(program, binaries / program.name))]:
        raise SystemExit("\n".join(faults))
    print(f"{len(programs)} programs are ready in {target}")


def point_current_at(target: Path) -> None:
    """Let `current` in the cache name the folder, for a gpuc that runs without this checkout."""
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
    parser.add_argument("--list", action="store_true", help="print each program, its version and its size")
    parser.add_argument("--where", action="store_true", help="print the folder that holds bin/ and data/")
    parser.add_argument("--argocd", action="store_true", help="Argo CD and Helm in place of the control plane")
    arguments = parser.parse_args()
    selection = ARGO_CD if arguments.argocd else REHEARSAL
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
        print("\nStopped. The next run goes on where this one was.")
        return 130
    except OSError as error:
        raise SystemExit(f"The programs cannot be stored: {error}") from None
    if target.parent == selection.cache:
        point_current_at(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
