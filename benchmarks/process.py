"""Measures the run time of a complete process, and the memory of the process and its children."""

from __future__ import annotations

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
    """Does nothing: the preparation of a contestant that needs none."""


@dataclass(frozen=True)
class Contestant:
    """A measured command."""

    name: str
    does: str
    """A short description for the report."""
    command: tuple[str, ...]
    folder: Path
    before: Callable[[], None] = nothing
    """Restores the initial state before a run; not measured."""
    exit_code: int = 0


@dataclass(frozen=True)
class Run:
    """The measured times of a process and its children."""

    wall_ms: float
    user_ms: float
    output: str


class RunFailed(Exception):
    """A contestant had an unexpected exit code; the message contains its output."""


def timed(contestant: Contestant, environment: dict[str, str]) -> Run:
    """Runs a contestant and measures its times.

    Raises:
        RunFailed: when the exit code is not the expected one.
    """
    contestant.before()
    with tempfile.TemporaryFile() as output:
        started = perf_counter()
        process = _start(contestant, environment, output.fileno())
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode != contestant.exit_code:
        raise RunFailed(f"{contestant.name}: exit code {process.returncode}: {text[-2000:]}")
    return Run(wall * 1e3, usage.ru_utime * 1e3, text)


def peak_mib(contestant: Contestant, environment: dict[str, str]) -> float | None:
    """The highest sampled sum of resident memory over the process tree; None without /proc.

    This is a separate run, because sampling slows down the process. Shared pages are counted for every process.
    """
    if not (_PROC / "self" / "statm").exists():
        return None
    contestant.before()
    process = _start(contestant, environment, subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, tree_mib(process.pid))
        sleep(SAMPLE_SECONDS)
    return peak


def tree_mib(pid: int) -> float:
    """Current resident memory of a process and its descendants; shared pages are counted for every process."""
    return sum(_resident_bytes(process) for process in _tree(pid)) / _MIB


def _start(contestant: Contestant, environment: dict[str, str], output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        contestant.command,
        cwd=contestant.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for listing in (_PROC / str(parent) / "task").glob("*/children"):
            found.extend(int(child) for child in _read(listing).split())
    return found


def _resident_bytes(pid: int) -> int:
    fields = _read(_PROC / str(pid) / "statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # the process has ended
