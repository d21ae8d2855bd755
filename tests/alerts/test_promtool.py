"""promtool accepts all alerts, and all cases of the alerts succeed."""

from pathlib import Path

import pytest

from tests.alerts import promtool
from tests.alerts.case import Body, alert_rules
from tests.conftest import EXAMPLES
from tests.lanes import ci_share

ALERTS = sorted({rule["alert"] for rule in alert_rules("prod-use1")})


@pytest.mark.parametrize("name", EXAMPLES)
def test_promtool_accepts_the_rules(program: Path, tmp_path: Path, name: str) -> None:
    assert promtool.check_rules(program, tmp_path, name).problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("group", ci_share(list(promtool.CASES), 4))
def test_the_cases_succeed(program: Path, tmp_path: Path, group: str) -> None:
    """`make conformance` runs the cases of all groups and of all example clusters."""
    assert promtool.run_cases(program, tmp_path, "prod-use1", group).problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["vector(0) > 0", "vector(1)"])
@pytest.mark.parametrize("alert", ci_share(ALERTS, 3))
def test_the_cases_detect_an_alert_that_never_or_always_fires(
    program: Path, tmp_path: Path, alert: str, expression: str
) -> None:
    def changed(rule: Body) -> Body:
        return {**rule, "expr": expression} if rule.get("alert") == alert else rule

    outcome = promtool.run_cases(program, tmp_path, "prod-use1", alert=alert, change=changed)
    assert outcome.problem or outcome.left_out


def test_two_rules_with_the_same_name_and_labels_are_a_mistake(program: Path, tmp_path: Path) -> None:
    def changed(rule: Body) -> Body:
        return {**rule, "labels": {"severity": "critical"}}

    problem = promtool.check_rules(program, tmp_path, "prod-use1", changed).problem
    assert "duplicate rule(s) found" in problem
