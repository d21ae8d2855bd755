"""Every finding about Helm values and patches is at the line of the user that causes the finding."""

import re
from pathlib import Path

import pytest

from gpuc.diagnostics.finding import RULES
from tests.customize.small import FILE, LINES, compiled

TEXT = Path(__file__).with_name("cases.yaml").read_text()
CASES = re.split(r"^---\n", TEXT, flags=re.MULTILINE)
MARK = re.compile(r"#! ([\w ]+)$")


def marks(case: str) -> list[tuple[int, str]]:
    """Line and rule of every mark."""
    found = ((number, MARK.search(line)) for number, line in enumerate(case.splitlines(), LINES + 1))
    return [(number, rule) for number, mark in found if mark for rule in mark[1].split()]


@pytest.mark.share(4)
@pytest.mark.parametrize("case", CASES, ids=[str(number) for number in range(len(CASES))])
def test_findings_are_at_the_lines_of_the_user(case: str) -> None:
    findings, _ = compiled(case)
    found = {
        (finding.mark.line if finding.mark and finding.mark.file == FILE else 0, finding.id) for finding in findings
    }
    assert found == set(marks(case)), [f"{finding.mark} {finding.id} {finding.message}" for finding in findings]


def test_every_rule_has_a_case() -> None:
    own = {rule for rule in RULES if re.fullmatch(r"PAT\d+|VAL10\d", rule)}
    assert own <= {rule for case in CASES for _, rule in marks(case)}
