"""Builds the missing programs with Go, and then runs each program once."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.report.progress import Progress
from gpuc.kubernetes.amounts import MIB
from gpuc_rehearsal.tools.selection import BUILD_FLAGS, ENVIRONMENT, PINS, BuildError, Program, Selection


def build_programs(selection: Selection) -> None:
    """Builds the missing programs of a selection, and copies the files that they need. Existing programs stay.

    Raises:
        BuildError: when a program cannot be built, or is not the pinned program.
        OSError: when the folder of the programs cannot be written.
    """
    target = selection.home()
    with _locked(target):
        _build_missing(selection, target)
        problems = [_problem_of(program, target / "bin" / program.name) for program in selection.programs]
    if any(problems):
        raise BuildError("\n".join(filter(None, problems)))
    write_stdout(f"{len(selection.programs)} programs are ready in {target}\n")


def state_of(program: Program, target: Path) -> str:
    """Returns the size of a built program, for example "99 MiB", or "missing"."""
    binary = target / "bin" / program.name
    return f"{binary.stat().st_size / MIB:.0f} MiB" if binary.exists() else "missing"


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Locks the folder against other builds, and removes unfinished files of a killed build."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in (target / "bin").glob(".*"):
            leftover.unlink()
        yield


def _build_missing(selection: Selection, target: Path) -> None:
    binaries, programs = target / "bin", selection.programs
    missing = [program for program in programs if not (binaries / program.name).exists()]
    if not missing and (target / "data.json").exists():
        return
    require_go(programs)
    binaries.mkdir(exist_ok=True)
    for program in missing:
        label = f"[{programs.index(program) + 1:2}/{len(programs)}] {program.name} {program.version()}"
        with closing(Progress(sys.stderr, first_line_after=0)) as progress:
            built = _build(program, binaries / program.name, label, progress)
        write_stdout(f"{label}: {built}\n")
    _write_data(selection, target)


def _build(program: Program, binary: Path, label: str, progress: Progress) -> str:
    """Builds a binary and replaces the old binary in one step. Returns the minutes and the size, as text.

    Raises:
        BuildError: with the last lines of the compiler.
    """
    unfinished = binary.with_name(f".{binary.name}.{os.getpid()}")
    package = "." if program.is_own else "/".join(filter(None, (program.module, program.package)))
    flags = (*BUILD_FLAGS, f"-ldflags={program.linker_flags()}", *((f"-tags={program.tags}",) if program.tags else ()))
    started = time.monotonic()
    with subprocess.Popen(
        ("go", "build", "-v", *flags, "-o", unfinished, package),
        cwd=PINS / program.folder,
        env=os.environ | ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            last_lines, packages = deque[str](maxlen=30), 0
            for line in process.stderr:
                last_lines.append(line.rstrip())
                packages += not line.startswith("go: ")
                progress(f"{label}: {packages} packages, {(time.monotonic() - started) / 60:.1f} min")
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise BuildError("\n".join((*last_lines, f"{program.name} {program.version()} cannot be built")))
    unfinished.replace(binary)
    minutes = (time.monotonic() - started) / 60
    return f"{minutes:.1f} min, {binary.stat().st_size / MIB:.0f} MiB"


def _write_data(selection: Selection, target: Path) -> None:
    """Writes the versions, and the manifests that the rehearsal reads, so that the rehearsal needs no Go."""
    sources = {}
    for key in ("data", "chart"):
        for name, part in selection.tables.get(key, {}).items():
            found = downloaded_module(part)
            source = Path(found["Dir"]) / part["path"]
            sources[name] = str(source)
            if key == "chart":
                _package(target, source, found["Version"].removeprefix("v"))
                continue
            for file in source.glob("*.yaml") if source.is_dir() else (source,):
                _write(target / "data" / name / file.relative_to(source), file.read_bytes())
    versions = {program.name: program.version() for program in selection.programs}
    _write(target / "versions.json", json.dumps(versions, indent=2).encode() + b"\n")
    _write(target / "data.json", json.dumps(sources, indent=2).encode() + b"\n")


def _package(target: Path, chart: Path, version: str) -> None:
    """Packages a chart with the version of its module, because the version in Chart.yaml may be older."""
    charts = target / "data" / "charts"
    charts.mkdir(parents=True, exist_ok=True)
    command = (target / "bin" / "helm", "package", chart, "--version", version, "--destination", charts)
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{chart} cannot be packaged: {error.stderr.strip()}") from None


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _problem_of(program: Program, binary: Path) -> str | None:
    """Returns why a binary is not the pinned program; None if it starts and prints the pinned version."""
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


def go(folder: str, *arguments: str) -> str:
    """Runs the command go in a subfolder of programs/, and returns its output.

    Raises:
        subprocess.CalledProcessError: when go fails.
    """
    command, environment = ("go", *arguments), os.environ | ENVIRONMENT
    run = subprocess.run(command, cwd=PINS / folder, env=environment, check=True, capture_output=True, text=True)
    return run.stdout


def downloaded_module(part: dict[str, str]) -> dict[str, str]:
    """Downloads the Go module that a table of programs.toml names. Returns the JSON of Go; `Dir` is the folder.

    Raises:
        BuildError: when Go cannot download the module.
    """
    try:
        found: dict[str, str] = json.loads(go(part["folder"], "mod", "download", "-json", part["module"]))
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{part['module']} cannot be downloaded: {(error.stderr or error.stdout).strip()}") from None
    return found


def require_go(programs: Iterable[Program]) -> None:
    """Checks that the installed Go is new enough for all programs.

    Raises:
        BuildError: when Go is missing, or older than a go.mod requires.
    """
    required = {p.folder: re.findall(r"^go (\S+)", p.go_mod(), re.MULTILINE)[0] for p in programs}
    folder = max(required, key=lambda name: _release(required[name]))
    install = f"install Go {required[folder]} or newer and run the command again"
    if shutil.which("go") is None:
        raise BuildError(f"Go is required to build the programs and is not installed: {install}")
    try:
        found = go(folder, "env", "GOVERSION").strip()
    except subprocess.CalledProcessError as error:
        raise BuildError(f"this Go is too old for {folder} ({error.stderr.strip()}): {install}") from None
    if _release(found) < _release(required[folder]):
        raise BuildError(f"{found} is too old for {folder}: {install}")


def _release(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
