"""Ends rehearsals in the middle, in every way and at several moments: nothing of them may survive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gpuc.rehearse.run_folder import run_folder
from tests.conformance.outcome import Check
from tests.conftest import ROOT

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
MOMENTS_SECONDS = (2, 7, 16)
"""After the first program started: while the API server starts, while controllers start, while test cases run."""
GONE_SECONDS = 15
COMMAND = (sys.executable, "-m", "gpuc.cli.main", "rehearse", "prod-use1", "--case", "smallest/*")


def endings() -> Iterator[Check]:
    """Every signal at every moment; the kept programs are found through a cache of this run's own."""
    for ending in SIGNALS:
        for moment in MOMENTS_SECONDS:
            with tempfile.TemporaryDirectory() as cache:
                yield _ended(ending, moment, Path(cache))


def _ended(ending: signal.Signals, moment: float, cache: Path) -> Check:
    # The programs stay where they were built; only the folders of runs are this cache's.
    environment = {**os.environ, "GPUC_TOOLS": str(_programs()), "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(
        COMMAND,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    runs = cache / "gpuc" / "rehearse"
    while not runs.is_dir() or not any(runs.glob("*/pids")):
        time.sleep(0.1)
    time.sleep(moment)
    (folder,) = runs.iterdir()
    pids = [int(line.split()[0]) for line in (folder / "pids").read_text(encoding="ascii").splitlines()]
    process.send_signal(ending)
    process.wait(GONE_SECONDS)
    deadline = time.monotonic() + GONE_SECONDS
    while (alive := [pid for pid in pids if _lives(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    if ending is signal.SIGKILL:
        # Nobody was left to remove it: the next run does.
        with run_folder(folder.parent):
            pass
    left = [each.name for each in folder.parent.iterdir()]
    problems = [f"programs {alive} live on"] * bool(alive) + [f"folders {left} are left"] * bool(left)
    name = f"rehearsal ended by {ending.name} after {moment} s"
    return Check(name, "; ".join(problems), f"{len(pids)} programs were running")


def _programs() -> Path:
    from gpuc.rehearse.programs import find_programs

    return find_programs().folder


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
