"""Trees as people write them: every line that is marked has a finding, and no other line has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuc.cli.main import main

TREES = sorted((Path(__file__).parent / "trees").glob("*/*.yaml"))
MARK = "# <-"


@pytest.mark.parametrize("file", TREES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_findings_stand_at_the_marked_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = {number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith(MARK)}
    assert bool(marked) == (file.stem == "bad")
    main(["lint", str(file), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    told = {each["line"]: each["message"] for each in report["findings"] if each["severity"] != "info"}
    assert {line: message for line, message in told.items() if line not in marked} == {}
    assert marked - set(told) == set()
