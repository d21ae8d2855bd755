"""`gpuc check` gives every wrong spec of breaks.yaml its answer, with a position and in plain words."""

import re
from pathlib import Path

import pytest

from tests.messages.run import Case, answer, cases, place

ALL = cases()
POSITION = re.compile(r"^[\w./-]+:\d+:\d+  (error|warning) [A-Z]{2,4}\d{3}  ", re.MULTILINE)
SOURCE_LINE = re.compile(r"^ +\d* \|.*$", re.MULTILINE)
PYTHON = re.compile(
    r"Traceback|[Pp]ydantic|[Pp]ython|ruamel|NoneType|\b(str|dict|tuple|bool|float|NaN|None|True|False)\b"
    r"|\bError:|[a-z]Error\b|Input should|greater than equal|less than equal|\[type="
)
EXPRESSION = re.compile(r"\^\[|\\[dwxs]|\]\+|\]\*|\(\?|\)\$|\]\$|\{\d+,\d*\}")


@pytest.mark.share(3)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.number)
def test_a_spec_gets_its_answer(case: Case, tmp_path: Path) -> None:
    place(case, tmp_path / "fleet")
    assert answer(case, tmp_path / "fleet") == (case.exit, case.answer), (
        "read the new answer; python -m tests.messages --write"
    )


def test_the_fleet_without_an_edit_has_no_finding(tmp_path: Path) -> None:
    fleet = Case("", "", "", ())
    place(fleet, tmp_path / "fleet")
    assert answer(fleet, tmp_path / "fleet") == (0, "1 cluster: no findings\n")


def test_numbers_are_unique() -> None:
    numbers = [case.number for case in ALL]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.number)
def test_an_answer_has_a_position_and_plain_words(case: Case) -> None:
    sentences = SOURCE_LINE.sub("", case.answer)
    assert PYTHON.findall(sentences) == []
    assert EXPRESSION.findall(sentences) == []
    if case.accepted:
        assert "error" not in case.answer
    else:
        assert POSITION.search(case.answer), "no error and no warning at a line and a column"


@pytest.mark.parametrize("number", ["65", "71", "73"])
def test_zero_and_one_are_no_truth_values(number: str) -> None:
    text = next(case.answer for case in ALL if case.number == number)
    assert not re.search(r"\b(true|false)\b", SOURCE_LINE.sub("", text))
