"""Every impact has a case file with changes that have the impact at exactly the marked lines, and changes without it.

The first spec of a case file is the state before, each further spec a state after. A line that ends with `#! ID` must
get exactly one impact with this id. Lines of the first spec that the second state after removes end with `#2! ID`.
"""

from pathlib import Path

import pytest

from gpuc.diagnostics.contract import Check
from gpuc.plan.change import Change
from gpuc.plan.impact import IMPACTS, Raised
from tests.plan.cases import CASES, MARK, Case, cases, impacts_of

ALL = cases()
CHECKS = {f"{check.find.__module__.split('.')[-2]}/{check.find.__name__}": check for check in IMPACTS.discover()}
"""The impacts by topic and name, which are the folder and the name of the case file."""


@pytest.mark.usefixtures("without_lint")
@pytest.mark.share(24)
@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_impacts_are_at_their_marks(case: Case, tmp_path: Path) -> None:
    ids = {identifier for other in ALL if _file(other) == _file(case) for _, _, identifier in other.marks}
    found = [impact for impact in impacts_of(tmp_path, case) if impact.id in ids]
    marks = sorted((impact.is_before, impact.mark.line if impact.mark else 0, impact.id) for impact in found)
    assert marks == case.marks, [(impact.id, impact.mark, impact.subject, impact.message) for impact in found]


@pytest.mark.parametrize(("name", "check"), CHECKS.items(), ids=list(CHECKS))
def test_an_impact_has_a_title_a_reason_and_cases(name: str, check: Check[Change, Raised]) -> None:
    assert check.rule.title.endswith(".")
    assert check.rule.why.endswith(".")
    assert check.rule.level
    of_impact = [case for case in ALL if _file(case) == name]
    assert any(not case.marks for case in of_impact), "no change without the impact"
    assert {identifier for case in of_impact for _, _, identifier in case.marks} == {check.rule.id}


def test_every_impact_has_a_case_and_every_case_an_impact() -> None:
    assert [f"{file.parent.name}/{file.stem}" for file in CASES] == sorted(CHECKS)
    assert len({check.rule.id for check in CHECKS.values()}) == len(CHECKS)
    assert MARK.findall("max: 3  #! IMP101") == ["IMP101"]


def _file(case: Case) -> str:
    return case.name.rpartition("-")[0]
