"""The folder of one run: its files, and the programs that belong to it, so that the next run can end what it left."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = "lock"
_PIDS = "pids"


@contextmanager
def run_folder(runs: Path) -> Iterator[Path]:
    """A new folder below `runs`, locked as long as it is used and gone afterwards; left-overs of others go first."""
    runs.mkdir(parents=True, exist_ok=True)
    for left in sorted(runs.iterdir()):
        _remove_if_left(left)
    folder = Path(tempfile.mkdtemp(dir=runs))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remember(folder: Path, pid: int) -> None:
    """Notes a program of the run: the leader of its own process group."""
    with (folder / _PIDS).open("a", encoding="ascii") as pids:
        pids.write(f"{pid} {_birth(pid)}\n")


def _remove_if_left(folder: Path) -> None:
    """Ends and removes a run whose owner is gone: the lock of a living one cannot be had."""
    try:
        with (folder / _LOCK).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_programs(folder)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    except OSError:
        with suppress(OSError):
            folder.rmdir()  # made by a run that was killed before it had a lock; one that has files is a living one


def _end_programs(folder: Path) -> None:
    with suppress(FileNotFoundError):
        for line in (folder / _PIDS).read_text(encoding="ascii").splitlines():
            pid, _, birth = line.partition(" ")
            if birth and birth == _birth(int(pid)):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(pid), signal.SIGKILL)


def _birth(pid: int) -> str:
    """When a process started, which tells it from a later one of the same number; empty where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "" if Path("/proc/self").exists() else _birth_by_ps(pid)
    return fields.rpartition(")")[2].split()[19]


def _birth_by_ps(pid: int) -> str:
    from subprocess import run

    return run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip()
