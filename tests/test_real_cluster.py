"""The page of facts about real clusters names tests that exist, and texts that committed files have or do not have."""

import re

import pytest

from gpuc_rehearsal.suites import SUITES
from tests.conftest import ROOT

PAGE = (ROOT / "tests/REAL_CLUSTER.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("|")][2:]
IN_FILES = re.compile(r"`([^`]+)` has ((?:(?: and )?(?:no )?`[^`]+`)+)")


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1][:40]}" for row in ROWS])
def test_the_test_of_a_fact_exists(row: list[str]) -> None:
    assert len(row) == 4 and all(row)
    suites = re.findall(r"rehearsal: suite (\w+)", row[3])
    files = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", row[3])
    assert suites or files or "clusters/*/README.md" in row[3] or IN_FILES.search(row[3])
    assert set(suites) <= set(SUITES)
    for file, name in files:
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        assert (ROOT / file).exists()


@pytest.mark.parametrize("row", [row for row in ROWS if "` has " in row[3]], ids=lambda row: f"{row[0]} {row[1][:40]}")
def test_committed_files_show_the_fact(row: list[str]) -> None:
    claims = IN_FILES.findall(row[3])
    assert len(claims) == row[3].count("` has "), "each claim can be read"
    for glob, texts in claims:
        # `*` stands for names without a dot, such as those of tenants: pods.priority.yaml is no file of a tenant.
        found = [path for path in ROOT.glob(glob) if "." not in path.stem]
        files = {path: " ".join(path.read_text(encoding="utf-8").split()) for path in found}
        assert files, glob
        for no, text in re.findall(r"(no )?`([^`]+)`", texts):
            assert [path for path, content in files.items() if (text in content) == bool(no)] == [], text
