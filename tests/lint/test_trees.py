"""Sample clusters as Kubernetes YAML: exactly the lines that end with `#! ID` have these findings."""

import json
import re
from pathlib import Path

import pytest

from gpuc.cli.main import main

TREES = sorted((Path(__file__).parent / "trees").glob("*/*.yaml"))
MARK = re.compile(r"#! (\w+(?: \w+)*)$")


def expected_findings(file: Path) -> list[tuple[str, int, str]]:
    """File, line and id of every finding that the file's marks name."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    marks = ((number, mark) for number, line in lines if (mark := MARK.search(line)))
    return [(str(file), number, id_) for number, mark in marks for id_ in mark[1].split()]


@pytest.mark.parametrize("file", TREES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_findings_are_at_the_marked_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = expected_findings(file)
    assert bool(expected) == (file.stem == "bad")
    main(["lint", str(file), "--format", "json", "--complete"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    found = [(finding["file"], finding["line"], finding["id"]) for finding in findings if finding["severity"] != "info"]
    assert sorted(found) == expected, findings
