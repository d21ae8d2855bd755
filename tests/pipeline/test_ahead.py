"""Reading in a child gives what reading here gives, also where the child meets trouble or dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.ahead import Reading
from compiler.finding import Stop
from compiler.source import read
from tests.conftest import EXAMPLES, ROOT

FILES = [f"specs/{name}.yaml" for name in EXAMPLES]


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runner's own threads do nothing that a fork could lose."""
    monkeypatch.delitem(sys.modules, "threading", raising=False)


@pytest.mark.usefixtures("one_thread")
def test_the_child_reads_what_this_process_would() -> None:
    reading = Reading.ahead(ROOT, None)
    assert reading.files() == FILES
    assert [reading.source(file) for file in FILES] == [read(ROOT, file) for file in FILES]
    reading.close()


@pytest.mark.usefixtures("one_thread")
def test_findings_come_through(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.yaml").write_text("kind: Cluster\nspec: {on: yes}\n")
    reading = Reading.ahead(tmp_path, ["specs/a.yaml"])
    reading.files()
    with pytest.raises(Stop) as ahead:
        reading.source("specs/a.yaml")
    with pytest.raises(Stop) as here:
        read(tmp_path, "specs/a.yaml")
    reading.close()
    assert ahead.value.findings == here.value.findings != ()


@pytest.mark.usefixtures("one_thread")
def test_a_child_that_dies_is_made_up_for() -> None:
    reading = Reading.ahead(ROOT, FILES)
    os.kill(reading._child, signal.SIGKILL)
    assert reading.files() == FILES
    assert reading.source(FILES[0]) == read(ROOT, FILES[0])
    reading.close()


def test_no_process_outlives_a_check() -> None:
    gpuc = [sys.executable, "-m", "compiler.cli", "check", "prod-use1"]
    with subprocess.Popen(gpuc, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.communicate()
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    assert process.returncode == 0
