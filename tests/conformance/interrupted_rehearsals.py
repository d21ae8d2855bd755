"""Kills or interrupts rehearsals and checks that no process and no folder remains."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gpuc_rehearsal.process import run_folder
from tests.conformance.check_result import CheckResult
from tests.conftest import ROOT

DELAYS_SECONDS = {signal.SIGTERM: 2, signal.SIGKILL: 7, signal.SIGINT: 16}
"""Delays after the start of the first program: the API server starts, controllers start, test cases run."""
EXIT_SECONDS = 15
COMMAND = (sys.executable, "-m", "gpuc.cli.main", "rehearse", "prod-use1", "--case", "smallest/*")


def interruptions(*, is_long: bool) -> Iterator[CheckResult]:
    """Sends every signal after its delay, or after every delay. Every rehearsal has its own cache folder."""
    for sent_signal, own_delay in DELAYS_SECONDS.items():
        for delay in DELAYS_SECONDS.values() if is_long else (own_delay,):
            with tempfile.TemporaryDirectory() as cache:
                yield _interrupted(sent_signal, delay, Path(cache))


def _interrupted(sent_signal: signal.Signals, delay: float, cache: Path) -> CheckResult:
    # GPUC_TOOLS names the built programs, so the cache holds only the folders of runs.
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
    time.sleep(delay)
    (folder,) = runs.iterdir()
    pids = [int(line.split()[0]) for line in (folder / "pids").read_text(encoding="ascii").splitlines()]
    process.send_signal(sent_signal)
    process.wait(EXIT_SECONDS)
    deadline = time.monotonic() + EXIT_SECONDS
    while (alive := [pid for pid in pids if _is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    if sent_signal is signal.SIGKILL:
        # A killed rehearsal cannot remove its folder; the next run removes it.
        with run_folder(folder.parent):
            pass
    left = [run.name for run in folder.parent.iterdir()]
    problems = [f"processes {alive} are still running"] * bool(alive)
    problems += [f"folders {left} still exist"] * bool(left)
    name = f"a rehearsal that gets {sent_signal.name} after {delay} s leaves no process and no folder"
    return CheckResult(name, "; ".join(problems), f"{len(pids)} processes were running")


def _programs() -> Path:
    from gpuc_rehearsal.programs import find_programs

    return find_programs().folder


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
