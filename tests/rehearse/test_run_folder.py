"""Programs end with their run, in reverse order; the next run cleans up after a killed run."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpuc_rehearsal.process import ProgramError, Started, record_process, run_folder, start, stop

RUN = """
import sys
from pathlib import Path
from gpuc_rehearsal.process import start
from gpuc_rehearsal.process import record_process, run_folder
with run_folder(Path(sys.argv[1])) as folder:
    process = start(Path("/bin/sleep"), ["infinity"], folder / "log", lambda: True, {})
    record_process(folder, process.child.pid)
    print(process.child.pid, flush=True)
    process.child.wait()
"""


def _wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder of a killed run."""
    folder = tmp_path / "left"
    folder.mkdir()
    (folder / "lock").touch()
    return folder


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and the parent-death signal of Linux")


@linux
def test_programs_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        _wait_until(lambda: b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0])
        run.kill()
    _wait_until(lambda: not _runs(pid))


@linux
def test_the_next_run_ends_programs_of_a_killed_run_and_removes_its_folder(tmp_path: Path, left: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "infinity"], start_new_session=True) as program:
        record_process(left, program.pid)
        with run_folder(tmp_path) as folder:
            assert not left.exists()
            assert folder.is_dir()
        assert program.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


@linux
def test_another_program_with_the_same_process_id_is_not_killed(tmp_path: Path, left: Path) -> None:
    (left / "pids").write_text(f"{os.getpid()} 1\n")
    with run_folder(tmp_path):
        assert not left.exists()


def test_a_running_run_keeps_its_folder(tmp_path: Path) -> None:
    with run_folder(tmp_path) as first, run_folder(tmp_path) as second:
        assert first.is_dir()
        assert second.is_dir()


def test_the_error_about_an_ended_program_contains_its_log(tmp_path: Path) -> None:
    process = start(Path("/bin/sh"), ["-c", "echo no such flag; exit 3"], tmp_path / "log", lambda: False, {})
    with pytest.raises(ProgramError, match=r"sh ended with code 3:\nno such flag"):
        process.wait_ready(math.inf)


def test_stopping_ends_a_program(tmp_path: Path) -> None:
    process = start(Path("/bin/sleep"), ["infinity"], tmp_path / "log", lambda: True, {})
    stop([process])
    assert process.child.returncode == -signal.SIGKILL


class Programs(Started):
    """Three programs; one of them may fail to start."""

    def __init__(self, broken: str = "") -> None:
        self.broken, self.ended = broken, list[str]()

    def start(self, stack: ExitStack) -> None:
        """Starts the programs."""
        for name in ("etcd", "API server", "scheduler"):
            if name == self.broken:
                raise RuntimeError(name)
            stack.callback(self.ended.append, name)


def test_programs_stop_in_reverse_order_after_the_block() -> None:
    with Programs() as programs:
        assert programs.ended == []
    assert programs.ended == ["scheduler", "API server", "etcd"]


def test_a_failed_start_stops_the_started_programs() -> None:
    programs = Programs("scheduler")
    with pytest.raises(RuntimeError), programs:
        raise AssertionError("the block is not entered")
    assert programs.ended == ["API server", "etcd"]
