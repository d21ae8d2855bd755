"""The rules of two clusters over one store: each rule reads only the series of its cluster."""

import re
import subprocess
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from gpuc.emit.alerts.promql import metric_names, of_cluster
from tests.alerts import promtool
from tests.alerts.case import Body, Case, promtool_file, promtool_test, rules
from tests.conftest import HUB_CLUSTERS
from tests.lanes import ci_share
from tests.tables import table

TABLE = table(__file__, "promql.yaml")


@pytest.fixture(scope="module")
def program() -> Path:
    found = promtool.find_promtool()
    if found is None:
        pytest.skip(promtool.MISSING)
    return found


@pytest.mark.parametrize(("expression", "expected"), TABLE["of_cluster"].items())
def test_each_selector_and_each_by_get_the_label(expression: str, expected: str) -> None:
    assert of_cluster(expression, "cluster", "a") == expected


@pytest.mark.parametrize(("expression", "expected"), TABLE["metric_names"].items())
def test_the_names_of_metrics(expression: str, expected: list[str]) -> None:
    assert list(metric_names(expression)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", HUB_CLUSTERS)
def test_promtool_finds_the_matcher_in_every_selector(program: Path, name: str) -> None:
    """`promql label-matchers set` changes nothing if all selectors have the matcher already."""
    expressions = {rule["expr"] for group in rules(name).values() for rule in group}
    for expression in ci_share(sorted(expressions), 4):
        printed = _promql(program, "format", expression)
        assert _promql(program, "label-matchers", "set", expression, "cluster", name) == printed
        clauses = re.findall(r"\bby\s*\(([^)]*)\)", printed)
        assert all("cluster" in clause.replace(" ", "").split(",") for clause in clauses)


@pytest.mark.parametrize("name", HUB_CLUSTERS)
def test_records_have_the_label(name: str) -> None:
    assert {rule["labels"]["cluster"] for rule in rules(name)["records"]} == {name}


@pytest.mark.slow
@pytest.mark.parametrize("group", ci_share(list(promtool.CASES), 2))
def test_no_alert_of_a_cluster_hides_mislabels_or_silences_one_of_the_other(
    program: Path, tmp_path: Path, group: str
) -> None:
    """Both clusters fire, or one fires while the other has the series of a case in which the alert is silent."""
    files = [promtool.rule_file(tmp_path, name, part).name for name in HUB_CLUSTERS for part in ("records", group)]
    has_start = promtool.version(program) >= promtool.WITH_START
    cases = {
        name: [case for case in promtool.cases(name, group) if has_start or not case.start] for name in HUB_CLUSTERS
    }
    tests = [test for name, other in permutations(HUB_CLUSTERS) for test in _tests(name, cases[name], other, cases[other])]
    assert len(tests) >= 4
    file = tmp_path / "two-clusters.test.yaml"
    file.write_text(yaml.safe_dump(promtool_file(files, tests), sort_keys=False, width=200))
    assert promtool.run((str(program), "test", "rules", str(file))) == ""


def _tests(name: str, cases: list[Case], other: str, others: list[Case]) -> Iterator[Body]:
    """Yields a test for each case in which the alert fires: with the same case, and a silent one, of the other."""
    for case in (case for case in cases if case.fires):
        for partner in others:
            fits = (partner.alert, partner.interval, partner.start) == (case.alert, case.interval, case.start)
            if fits and (not partner.fires or partner.name == case.name and partner.expected.keys() == case.expected.keys()):
                yield _together(promtool_test(name, case), promtool_test(other, partner), (name, other))


def _together(test: Body, second: Body, names: tuple[str, str]) -> Body:
    """Returns a test with the series of two tests in one store, each with the name of its cluster."""
    series = [
        {"series": row["series"].replace("}", f',cluster="{name}"}}'), "values": row["values"]}
        for name, found in zip(names, (test, second), strict=True)
        for row in found["input_series"]
    ]
    alerts = {row["eval_time"]: row["exp_alerts"] for row in second["alert_rule_test"]}
    expected = [
        {**row, "exp_alerts": [*row["exp_alerts"], *alerts.get(row["eval_time"], [])]} for row in test["alert_rule_test"]
    ]
    return {**test, "input_series": series, "alert_rule_test": expected}


def _promql(program: Path, *arguments: str) -> str:
    command = (str(program), "--experimental", "promql", *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
