"""Every impact has a case file with changes that have the impact at exactly the marked lines, and changes without it.

The first spec of a case file is the state before, each further spec a state after. A line that ends with `#! ID` must
get exactly one impact with this id. Lines of the first spec that the second state after removes end with `#2! ID`.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.plan.cases import CASES, MARK, MODULES, Case, cases, impacts_of

ALL = cases()


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_impacts_are_at_their_marks(case: Case, tmp_path: Path) -> None:
    ids = {identifier for other in ALL if _file(other) == _file(case) for _, _, identifier in other.marks}
    found = [impact for impact in impacts_of(tmp_path, case) if impact.id in ids]
    marks = sorted((impact.is_before, impact.mark.line if impact.mark else 0, impact.id) for impact in found)
    assert marks == case.marks, [(impact.id, impact.mark, impact.subject, impact.message) for impact in found]


@pytest.mark.parametrize("module", MODULES, ids=lambda file: file.stem)
def test_an_impact_has_a_name_a_title_a_reason_and_cases(module: Path) -> None:
    imported = importlib.import_module(f"gpuc.plan.impacts.{module.parent.name}.{module.stem}")
    rule = getattr(imported, module.stem).rule
    assert rule.title.endswith(".")
    assert rule.why.endswith(".")
    assert rule.level
    of_module = [case for case in ALL if _file(case) == f"{module.parent.name}/{module.stem}"]
    assert any(not case.marks for case in of_module), "no change without the impact"
    assert {identifier for case in of_module for _, _, identifier in case.marks} == {rule.id}


def test_every_impact_has_a_case_and_every_case_an_impact() -> None:
    def names(files: list[Path]) -> list[str]:
        return [f"{file.parent.name}/{file.stem}" for file in files]

    assert names(CASES) == names(MODULES)
    assert MARK.findall("max: 3  #! IMP101") == ["IMP101"]


def _file(case: Case) -> str:
    return case.name.rpartition("-")[0]
