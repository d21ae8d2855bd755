"""The rules of two clusters over one store: each rule reads only the series of its cluster."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from gpuc.emit.alerts.promql import metric_names, of_cluster
from tests.alerts import promtool
from tests.alerts.case import Body, promtool_file, promtool_test, rules
from tests.conftest import HUB_CLUSTERS
from tests.lanes import ci_share
from tests.tables import table

TABLE = table(__file__, "promql.yaml")


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
@pytest.mark.parametrize("group", ci_share(list(promtool.CASES), 4))
@pytest.mark.parametrize(("name", "other"), [HUB_CLUSTERS, HUB_CLUSTERS[::-1]])
def test_series_of_another_cluster_change_no_alert(
    program: Path, tmp_path: Path, name: str, other: str, group: str
) -> None:
    """The rules of a cluster over the series of a case, and over those of an opposite case in the other cluster.

    No alert of the other cluster fires with the wrong name, and none hides or silences an alert of this cluster.
    """
    files = [promtool.rule_file(tmp_path, name, part).name for part in ("records", group)]
    has_start = promtool.version(program) >= promtool.WITH_START
    cases = [case for case in promtool.cases(name, group) if has_start or not case.start]
    opposites = {(case.alert, case.fires, case.interval, case.start): case for case in promtool.cases(other, group)}
    tests = [
        _in_one_store(promtool_test(name, case), name, promtool_test(other, opposite), other)
        for case in ci_share(cases, 3)
        if (opposite := opposites.get((case.alert, not case.fires, case.interval, case.start)))
    ]
    assert tests
    file = tmp_path / "one-store.test.yaml"
    file.write_text(yaml.safe_dump(promtool_file(files, tests), sort_keys=False, width=200))
    assert promtool.run((str(program), "test", "rules", str(file))) == ""


def _in_one_store(test: Body, name: str, second: Body, other: str) -> Body:
    """Returns a test with the series of two tests, each with the label of its cluster."""
    series = [
        {"series": row["series"].replace("}", f',cluster="{label}"}}'), "values": row["values"]}
        for label, found in ((name, test), (other, second))
        for row in found["input_series"]
    ]
    return {**test, "input_series": series}


def _promql(program: Path, *arguments: str) -> str:
    command = (str(program), "--experimental", "promql", *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
