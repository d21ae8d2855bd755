"""The program that starts torchrun again. The tests run it with other commands, and without the pauses."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.emit.commands import NO_PROGRESS_CODE, RESTARTS, STOPPED_CODE, program, restart_in_place

WITHOUT_PAUSES = program().replace("time.sleep(pause)", "")
NCCL_TIMEOUT_SECONDS = 600


def run(progress_seconds: str, command: str) -> tuple[int, list[str]]:
    """Returns the exit code of the program, and the lines of its output."""
    arguments = [sys.executable, "-c", WITHOUT_PAUSES, progress_seconds, "sh", "-c", command]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.splitlines()


def test_a2_a_program_that_always_fails_ends_the_job() -> None:
    code, lines = run("inf", "exit 1")
    assert code == NO_PROGRESS_CODE and len(lines) == RESTARTS
    pauses = [int(line.split()[-2]) for line in lines]
    assert pauses == [10, 20, 40, 80, 160, 320, 320, 320]


def test_a2_a_pod_survives_the_time_in_which_the_old_pod_0_waits_for_a_lost_rank() -> None:
    pauses = [min(320, 5 * 2**failure) for failure in range(1, RESTARTS + 1)]
    assert "pause = min(320, 5 * 2**failures)" in program()
    assert sum(pauses[:-2]) > NCCL_TIMEOUT_SECONDS


@pytest.mark.parametrize(("progress_seconds", "code"), [("0", 0), ("100", NO_PROGRESS_CODE)])
def test_a2_failures_after_a_new_checkpoint_do_not_add_up(tmp_path: Path, progress_seconds: str, code: int) -> None:
    log = tmp_path / "runs"
    command = f"echo run >> {log}; test $(wc -l < {log}) -gt {RESTARTS + 4}"
    assert run(progress_seconds, command)[0] == code
    assert len(log.read_text().split()) == (RESTARTS + 5 if code == 0 else RESTARTS + 1)


@pytest.mark.parametrize(("command", "code"), [("exit 1", STOPPED_CODE), ("exit 0", 0)])
def test_a2_a_deleted_pod_ends_with_its_command(command: str, code: int) -> None:
    """The command gets SIGTERM, so that it can write a checkpoint. It is not started again."""
    script = f"trap '{command}' TERM; sleep 0.5; echo started; sleep 30 & wait"
    arguments = [sys.executable, "-c", program(), "inf", "sh", "-c", script]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == code


def test_a2_a_pod_that_is_deleted_in_a_pause_ends_at_once() -> None:
    arguments = [sys.executable, "-c", program(), "inf", "false"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and "failure 1 " in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == STOPPED_CODE


def test_without_checkpoints_no_run_counts_as_progress() -> None:
    assert restart_in_place(["torchrun"], None)[-2:] == ["inf", "torchrun"]
