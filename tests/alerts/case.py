"""Test cases of alerts, and the files that promtool reads."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any

from tests.alerts.series import series
from tests.emit import fleet
from tests.tables import table

_TEMPLATE = re.compile(r"{{ \$labels\.(\w+) }}")
Body = dict[str, Any]
TABLE = table(__file__, "cases.yaml")
Fired = Mapping[str, str]
"""The labels of an alert that fires: those of its series, and those by which its rule differs from others."""


@dataclass(frozen=True)
class Case:
    """The alerts that fire at given times, for given time series."""

    name: str
    alert: str
    series: Mapping[str, str]
    """The values in the notation of promtool, by series."""
    expected: Mapping[str, Sequence[Fired]]
    """The alerts that fire, by time. An empty list: the alert is silent."""
    interval: str = "1m"
    start: str = ""
    """The time of the first sample; empty: the beginning of 1970."""

    @property
    def fires(self) -> bool:
        return any(self.expected.values())

    @property
    def is_silent(self) -> bool:
        return not all(self.expected.values())


def table_cases(section: str, **names: object) -> Iterator[Case]:
    """Yields the cases of a section of cases.yaml, with the values of its $names."""
    words = {word: Template(text).safe_substitute(names) for word, text in TABLE["words"].items()}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {filled(key): filled(part) for key, part in value.items()}
        return [*map(filled, value)] if isinstance(value, list) else Template(value).substitute(words, **names)

    for alert, cases in filled(TABLE[section]).items():
        for name, expected in cases.items():
            found = {series(text): values for text, values in expected.pop("series").items()}
            interval, start = expected.pop("interval", "1m"), expected.pop("start", "")
            yield Case(name, alert, found, expected, interval, start)


@cache
def rules(cluster: str) -> dict[str, list[Body]]:
    """Returns the rules of an example cluster, by the name of the group, without those of optional components.

    The tests of an optional component run promtool on its rules.
    """
    manifests = (item for item in fleet.manifests(cluster, "monitoring") if item.kind == "PrometheusRule")
    groups = {
        group["name"].removeprefix("gpuc-"): [rule for rule in group["rules"] if not _is_optional(rule)]
        for manifest in manifests
        for group in manifest.body["spec"]["groups"]
    }
    return {name: own for name, own in groups.items() if own}


def _is_optional(rule: Body) -> bool:
    return "leader_election_master_status" in rule["expr"]


def rule_of(cluster: str, alert: str, fired: Fired) -> Body:
    """Returns the only rule of the alert whose labels have no other values than these."""
    (rule,) = (
        rule
        for group in rules(cluster).values()
        for rule in group
        if rule.get("alert") == alert and rule["labels"].items() <= {**rule["labels"], **fired}.items()
    )
    return rule


def group_of(cluster: str, alert: str) -> str:
    """Returns the name of the group that has the alert."""
    return next(name for name, group in rules(cluster).items() if any(rule.get("alert") == alert for rule in group))


def alert_rules(cluster: str) -> list[Body]:
    """Returns the alerts of an example cluster, without its recording rules."""
    return [rule for group in rules(cluster).values() for rule in group if "alert" in rule]


def alert_body(cluster: str, alert: str, fired: Fired) -> Body:
    """Returns the complete labels and annotations of a firing alert. Raises: KeyError if a text uses another label."""
    rule = rule_of(cluster, alert, fired)
    labels = {**rule["labels"], **fired}
    annotations = {
        name: _TEMPLATE.sub(lambda match: labels[match[1]], text) for name, text in rule["annotations"].items()
    }
    return {"exp_labels": labels, "exp_annotations": annotations}


def promtool_test(cluster: str, case: Case) -> Body:
    """Returns a test of promtool."""
    return {
        "name": f"{case.alert}: {case.name}",
        "interval": case.interval,
        **({"start_timestamp": case.start} if case.start else {}),
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "alert_rule_test": [
            {
                "eval_time": time,
                "alertname": case.alert,
                "exp_alerts": [alert_body(cluster, case.alert, fired) for fired in alerts],
            }
            for time, alerts in case.expected.items()
        ],
    }


def promtool_file(rule_files: Sequence[str], tests: Iterable[Body]) -> Body:
    """Returns a test file of promtool. The recorded series come first, because alerts read them."""
    order = {"group_eval_order": ["records"]}
    return {"rule_files": [*rule_files], "evaluation_interval": "1m", **order, "tests": [*tests]}
