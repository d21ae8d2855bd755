"""The page of facts about real clusters names tests that exist."""

from __future__ import annotations

import re

import pytest

from gpuc_rehearsal.suites import SUITES
from tests.conftest import ROOT

PAGE = (ROOT / "tests/REAL_CLUSTER.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1][:40]}" for row in ROWS])
def test_the_test_of_a_fact_exists(row: list[str]) -> None:
    assert len(row) == 4 and all(row)
    suites = re.findall(r"rehearsal: suite (\w+)", row[3])
    files = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", row[3])
    assert suites or files or "clusters/*/README.md" in row[3]
    assert set(suites) <= set(SUITES)
    for file, name in files:
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        assert (ROOT / file).exists()
