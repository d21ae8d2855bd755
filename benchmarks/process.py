"""One whole process: how long it takes, and how much memory it and its children hold."""

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
    """What is done before a process that needs nothing."""


@dataclass(frozen=True)
class Contestant:
    """One command that is measured."""

    name: str
    does: str
    """In a few words, for the report."""
    command: tuple[str, ...]
    folder: Path
    before: Callable[[], None] = nothing
    """Puts everything back to where the command has its work to do; not measured."""
    exit_code: int = 0


@dataclass(frozen=True)
class Run:
    """What one process and all children that it waited for took."""

    wall_ms: float
    user_ms: float
    output: str


class RunFailed(Exception):
    """A contestant ended otherwise than it has to; the text has its output."""


def timed(contestant: Contestant, environment: dict[str, str]) -> Run:
    """Runs a contestant to its end.

    Raises:
        RunFailed: when it exits with another code than it should.
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
    """The highest sum of resident memory over the process tree, sampled; None where /proc cannot tell.

    A run of its own: looking costs time on a machine of few cores. Pages that processes share count in each.
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
    """Resident memory of a process and all of its descendants now, pages that they share counted in each."""
    return sum(_resident_bytes(each) for each in _tree(pid)) / _MIB


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
        return ""  # it has ended meanwhile
