"""The commands load, call and read no more than budgets.toml allows. No clock decides, so the test never flickers."""

from collections import Counter
from pathlib import Path

import pytest

from gpuc.cli.commands import COMMANDS
from tests.budgets.measure import COUNTED, SPECS, UNCHANGED, Measured, measure
from tests.budgets.table import FILE, budgets_of, exceeded, read, text_of

SMALL = Measured(
    {"check": ["gpuc.cli", "gpuc.spec", "yaml"]},
    {"check prod": Counter({"model/queue.py:pools": 1000, "spec/base.py:<module>": 1, "pydantic": 100})},
    {"prod": ["specs/prod.yaml"]},
)


@pytest.mark.slow
def test_no_command_exceeds_its_budget(tmp_path: Path) -> None:
    lines = list(exceeded(read(), measure(tmp_path)))
    assert not lines, "\n".join([*lines, "run `make budgets` if the change is worth it"])


def test_every_command_has_a_budget() -> None:
    budgets = read()
    assert set(budgets.modules) == {*COMMANDS, UNCHANGED}
    assert set(budgets.calls) == {f"{command} {spec}" for command in COUNTED for spec in SPECS}
    assert text_of(budgets) == FILE.read_text(encoding="utf-8")


def test_a_measurement_meets_its_own_budgets() -> None:
    assert list(exceeded(budgets_of(SMALL), SMALL)) == []


@pytest.mark.parametrize(
    ("grown", "line"),
    [
        (
            Measured({"check": [*SMALL.modules["check"], "gpuc.lint"]}),
            "gpuc check loads 3 modules of gpuc, 1 more than the budget: gpuc.lint",
        ),
        (
            Measured({"check": [*SMALL.modules["check"], "jinja2"]}),
            "gpuc check loads 2 modules of libraries, 1 more than the budget: yaml (1), jinja2 (1)",
        ),
        (
            Measured(calls={"check prod": SMALL.calls["check prod"] + Counter({"model/queue.py:pools": 50})}),
            "gpuc check prod makes 1051 calls of gpuc, 50 more than the budget: model/queue.py:pools (+50), "
            "spec/base.py:<module> (+1)",
        ),
        (
            Measured(calls={"check prod": SMALL.calls["check prod"] + Counter({"pydantic": 50})}),
            "gpuc check prod makes 150 calls of libraries, 50 more than the budget: pydantic (+50)",
        ),
        (
            Measured(files={"prod": ["specs/other.yaml", "specs/prod.yaml"]}),
            "gpuc check prod reads more YAML files: specs/other.yaml",
        ),
    ],
)
def test_what_grew_is_named(grown: Measured, line: str) -> None:
    assert list(exceeded(budgets_of(SMALL), grown)) == [line]
