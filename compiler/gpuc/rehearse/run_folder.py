"""The folder of a run. A file has the ids of the run's processes, so that the next run can end them after a crash."""

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
    """Creates and locks a folder in `runs`, and removes the folder at the end. First removes folders of killed runs."""
    runs.mkdir(parents=True, exist_ok=True)
    for other in sorted(runs.iterdir()):
        _remove_if_abandoned(other)
    folder = Path(tempfile.mkdtemp(dir=runs))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def record_process(folder: Path, pid: int) -> None:
    """Writes a process id to the folder of the run. The process must be the leader of its process group."""
    with (folder / _PIDS).open("a", encoding="ascii") as pids:
        pids.write(f"{pid} {_start_time(pid)}\n")


def _remove_if_abandoned(folder: Path) -> None:
    """Kills the programs of a run and removes its folder, unless a running gpuc has locked the folder."""
    try:
        with (folder / _LOCK).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _kill_programs(folder)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    except OSError:
        with suppress(OSError):
            folder.rmdir()  # an empty folder of a run that was killed before it created its lock


def _kill_programs(folder: Path) -> None:
    with suppress(FileNotFoundError):
        for line in (folder / _PIDS).read_text(encoding="ascii").splitlines():
            pid, _, start_time = line.partition(" ")
            if start_time and start_time == _start_time(int(pid)):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(int(pid), signal.SIGKILL)


def _start_time(pid: int) -> str:
    """Returns the start time of a process, which differs between processes with the same id; empty if none exists."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return "" if Path("/proc/self").exists() else _start_time_from_ps(pid)
    return fields.rpartition(")")[2].split()[19]


def _start_time_from_ps(pid: int) -> str:
    from subprocess import run

    return run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip()
