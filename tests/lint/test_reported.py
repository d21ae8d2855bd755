"""Mistakes that people reported in public, each rebuilt as a small input in reported/, and what `gpuc lint` says.

In reported.yaml an input has the ids of the findings that name its mistake, or the reason why lint does not find it.
With `complete` the mistake is only one in the whole cluster.
"""

import json
from pathlib import Path

import pytest

from gpuc.cli.main import main
from tests.tables import table

INPUTS = sorted((Path(__file__).parent / "reported").glob("*.yaml"))
EXPECTED = table(__file__, "reported.yaml")


def test_at_least_forty_are_found() -> None:
    assert [file.stem for file in INPUTS] == sorted(EXPECTED)
    assert sum("finds" in row for row in EXPECTED.values()) >= MINIMUM


MINIMUM = 40


@pytest.mark.parametrize("file", INPUTS, ids=lambda file: file.stem)
def test_lint_says_what_is_expected(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = EXPECTED[file.stem]
    main(["lint", str(file), "--format", "json", *(["--complete"] if row.get("complete") else [])])
    findings = json.loads(capsys.readouterr().out)["findings"]
    found = {finding["id"] for finding in findings if finding["severity"] != "info"}
    assert found == set(row.get("finds", ())), findings
    assert "finds" in row or row["not found"]
