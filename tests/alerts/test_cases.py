"""Every alert has cases in which it fires and cases in which it is silent."""

import pytest

from tests.alerts.case import TABLE, Case, alert_body, alert_rules, group_of, rule_of, rules
from tests.alerts.promtool import CASES, cases
from tests.conftest import EXAMPLES

each_example = pytest.mark.parametrize("name", EXAMPLES)


def every_case(name: str) -> list[Case]:
    return [case for group in CASES for case in cases(name, group)]


@each_example
def test_each_alert_fires_in_a_case_and_is_silent_in_a_case(name: str) -> None:
    alerts = {rule["alert"] for rule in alert_rules(name)}
    assert {case.alert for case in every_case(name) if case.fires} == alerts
    assert {case.alert for case in every_case(name) if not case.fires} == alerts
    assert {case.alert for case in every_case(name) if case.is_silent} == alerts


@each_example
def test_each_rule_fires_in_a_case(name: str) -> None:
    fired = {
        id(rule_of(name, case.alert, alert))
        for case in every_case(name)
        for alerts in case.expected.values()
        for alert in alerts
    }
    silent = [(rule["alert"], rule["labels"]) for rule in alert_rules(name) if id(rule) not in fired]
    assert silent == []


@each_example
def test_cases_are_in_the_group_of_their_alert_and_have_different_names(name: str) -> None:
    assert rules(name).keys() == CASES.keys() | {"records"}
    for group in CASES:
        assert {group_of(name, case.alert) for case in cases(name, group)} == {group}
    names = [(case.alert, case.name) for case in every_case(name)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("start", "clusters"), TABLE["named"].items())
def test_the_cases_of_known_defects_exist(start: str, clusters: list[str]) -> None:
    assert [name for name in EXAMPLES if any(case.name.startswith(start) for case in every_case(name))] == clusters


@each_example
def test_texts_use_only_labels_that_the_alert_has(name: str) -> None:
    for case in every_case(name):
        for alerts in case.expected.values():
            for alert in alerts:
                texts = alert_body(name, case.alert, alert)["exp_annotations"].values()
                assert not [text for text in texts if "{{" in text or "  " in text]
