"""gpuc as a separate process: behaviour that tests in the same process cannot show."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def gpuc(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run([sys.executable, "-m", "gpuc.cli.main", *arguments], text=True, check=False, **streams)


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    assert gpuc("--version").returncode == 0
    refused = gpuc("check", cwd=tmp_path, env=environment)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("gpuc: no specs/ folder")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"]])
def test_small_questions_load_nothing_heavy(arguments: list[str]) -> None:
    program = (
        f"import sys; from gpuc.cli.main import main; main({arguments!r});"
        "heavy = {'pydantic', 'ruamel', 'json', 'dataclasses', 'subprocess', 'jsonschema_rs'};"
        "print(*sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr == "\n"


def test_a_closed_pipe_is_silent() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = gpuc("--help", stdout=writing)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_closed_streams_are_no_failure() -> None:
    closed = [sys.executable, "-m", "gpuc.cli.main", "nothing"]
    ran = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *closed], check=False)
    assert ran.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        ran = gpuc("--help", stdout=full)
    assert ran.returncode != 0
    assert ran.stderr.startswith("gpuc: cannot continue: No space left on device")


def test_a_terminal_that_cannot_encode_a_finding_gets_escapes() -> None:
    ran = gpuc("日本", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ran.returncode == 2
    assert "\\u65e5\\u672c" in ran.stderr
