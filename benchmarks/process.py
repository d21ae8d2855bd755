"""Measures the run time of a complete process, and the memory of the process and its children."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

SAMPLE_SECONDS = 0.004
_PROC = Path("/proc")
_MIB = 1 << 20


def nothing() -> None:
    """Does nothing. It is the preparation of a program that needs no preparation."""


@dataclass(frozen=True)
class Program:
    """A measured program."""

    name: str
    description: str
    """A short description for the report."""
    command: tuple[str, ...]
    folder: Path
    before: Callable[[], None] = nothing
    """Restores the initial state before each run. The benchmark does not measure this function."""
    exit_code: int = 0


@dataclass(frozen=True)
class Run:
    """The measured times of a process and its child processes."""

    wall_ms: float
    user_ms: float
    output: str


class RunFailed(Exception):
    """A program had an unexpected exit code. The message contains the output of the program."""


def timed(program: Program, environment: dict[str, str]) -> Run:
    """Runs a program and returns its times.

    Raises:
        RunFailed: when the exit code is not the expected one.
    """
    program.before()
    with tempfile.TemporaryFile() as output:
        started = perf_counter()
        process = _start(program, environment, output.fileno())
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != program.exit_code:
        raise RunFailed(f"{program.name}: exit code {process.returncode}: {text[-2000:]}")
    return Run(wall * 1e3, usage.ru_utime * 1e3, text)


def peak_mib(program: Program, environment: dict[str, str]) -> float | None:
    """Runs a program and returns the highest resident memory of the process and its descendants, in MiB.

    The result is None on systems without /proc. The memory is measured in a separate run, because sampling slows the
    process down. Pages that several processes share are counted for each process.
    """
    if not (_PROC / "self" / "statm").exists():
        return None
    program.before()
    process = _start(program, environment, subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, tree_mib(process.pid))
        sleep(SAMPLE_SECONDS)
    return peak


def tree_mib(pid: int) -> float:
    """Returns the resident memory of a process and its descendants, in MiB. Shared pages count for each process."""
    return sum(_resident_bytes(process) for process in _tree(pid)) / _MIB


def _start(program: Program, environment: dict[str, str], output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        program.command,
        cwd=program.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


def _tree(pid: int) -> list[int]:
    processes = [pid]
    for parent in processes:
        for listing in (_PROC / str(parent) / "task").glob("*/children"):
            processes.extend(int(child) for child in _read(listing).split())
    return processes


def _resident_bytes(pid: int) -> int:
    fields = _read(_PROC / str(pid) / "statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # the process has ended
