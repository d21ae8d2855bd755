"""Monitors that find nothing, and what Prometheus or Alertmanager pass by."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from compiler.compiled import CompiledSpec, compiled_spec
from compiler.lint.objects import Reading
from compiler.manifest import Manifest
from compiler.verify.flaw import place
from compiler.verify.monitoring import flaws
from compiler.verify.tree import Tree
from tests.conftest import EXAMPLES, ROOT

Told = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def prod() -> CompiledSpec:
    return compiled_spec(ROOT, "specs/prod-use1.yaml")


def told(tree: Tree) -> Told:
    return [(flaw.fault.id, flaw.manifest.name, place(flaw.path)) for flaw in flaws(tree)]


def broken(spec: CompiledSpec, name: str, change: Callable[[dict[str, Any]], Any], **values: Any) -> Told:
    """What is told of a compiled spec in which the document of one object is changed."""

    def one(each: Manifest) -> Manifest:
        if each.name != name:
            return each
        document = deepcopy({"labels": each.labels, "body": each.body})
        change(document)
        return replace(each, labels=document["labels"], body=document["body"])

    made = tuple(map(one, spec.objects))
    assert made != spec.objects
    return told(Tree(made, is_whole=True, values={**spec.charts, **values}))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("is_whole", [True, False])
def test_nothing_is_said_of_our_own_trees(name: str, is_whole: bool) -> None:
    spec = compiled_spec(ROOT, f"specs/{name}.yaml")
    assert told(Tree(spec.objects, is_whole=is_whole, values=spec.charts)) == []


KUEUE, GATEKEEPER, QUEUES = "gpuc-prod-use1-kueue", "gpuc-prod-use1-gatekeeper", "gpuc-prod-use1-queues"


@pytest.mark.parametrize(
    ("name", "where", "value", "fault", "at"),
    [
        (KUEUE, "namespaceSelector", {}, "MON001", "spec.namespaceSelector"),
        (GATEKEEPER, "namespaceSelector", {}, "MON001", "spec.namespaceSelector"),
        (KUEUE, "namespaceSelector", {"matchNames": ["kueue"]}, "MON001", "spec.namespaceSelector.matchNames"),
        (KUEUE, "selector", {"matchLabels": {"control-plane": "manager"}}, "MON002",
         "spec.selector.matchLabels.control-plane"),
        (GATEKEEPER, "selector", {"matchExpressions": [
            {"key": "gatekeeper.sh/operation", "operator": "In", "values": ["mutate"]}]}, "MON002",
         "spec.selector.matchExpressions[0].values"),
        (KUEUE, "selector", {"matchLabels": {"app": "kueue"}}, "MON002", "spec.selector.matchLabels.app"),
    ],
)  # fmt: skip
def test_a_monitor_that_finds_nothing_is_told(
    prod: CompiledSpec, name: str, where: str, value: Any, fault: str, at: str
) -> None:
    assert broken(prod, name, lambda made: made["body"]["spec"].update({where: value})) == [(fault, name, at)]


@pytest.mark.parametrize(
    ("name", "selector"),
    [
        (KUEUE, {"matchLabels": {"app.kubernetes.io/component": "metrics-service", "app.kubernetes.io/instance": "k"}}),
        (GATEKEEPER, {"matchLabels": {"app": "gatekeeper", "control-plane": "audit-controller"}}),
        (GATEKEEPER, {}),
    ],
)
def test_labels_that_a_chart_gives_are_found(prod: CompiledSpec, name: str, selector: Any) -> None:
    assert broken(prod, name, lambda made: made["body"]["spec"].update(selector=selector)) == []


def test_a_chart_whose_values_add_labels_is_not_known(prod: CompiledSpec) -> None:
    def change(made: dict[str, Any]) -> None:
        made["body"]["spec"]["selector"] = {"matchLabels": {"scrape": "yes"}}

    assert broken(prod, GATEKEEPER, change) == [("MON002", GATEKEEPER, "spec.selector.matchLabels.scrape")]
    values = {**prod.charts["gatekeeper"], "podLabels": {"scrape": "yes"}}
    assert broken(prod, GATEKEEPER, change, gatekeeper=values) == []


def test_one_object_that_prometheus_does_not_choose_is_told(prod: CompiledSpec) -> None:
    at = "metadata.labels.release"
    assert broken(prod, KUEUE, lambda made: made["labels"].update(release="prom")) == [("MON003", KUEUE, at)]
    assert broken(prod, KUEUE, lambda made: made["labels"].clear()) == [("MON003", KUEUE, "metadata")]


@pytest.mark.parametrize(("key", "value"), [("team", "search"), ("cluster", "other"), ("severity", "critcal")])
def test_an_alert_that_goes_astray_is_told(prod: CompiledSpec, key: str, value: str) -> None:
    def change(made: dict[str, Any]) -> None:
        made["body"]["spec"]["groups"][0]["rules"][1]["labels"][key] = value

    assert broken(prod, QUEUES, change) == [("MON004", QUEUES, f"spec.groups[0].rules[1].labels.{key}")]


def test_an_alert_about_another_resource_is_told(prod: CompiledSpec) -> None:
    name = "gpuc-prod-use1-gpu"

    def change(made: dict[str, Any]) -> None:
        rules = made["body"]["spec"]["groups"][0]["rules"]
        next(each for each in rules if "resource" in each["labels"])["labels"]["resource"] = "nvidia.com/gpus"

    ((fault, where, path),) = broken(prod, name, change)
    assert (fault, where) == ("MON004", name) and path.endswith(".labels.resource")


FILES = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: monitoring, labels: {release: prom}}
spec: {selector: {matchLabels: {app: web}}, endpoints: [{port: http}]NAMES}
"""


def lint(text: str) -> Told:
    reading = Reading()
    reading.add("tree.yaml", text)
    assert not reading.findings
    return told(Tree(reading.manifests, is_whole=False))


def test_a_monitor_that_looks_in_its_own_namespace_only_is_told_in_files() -> None:
    assert lint(FILES.replace("NAMES", "")) == [("MON001", "web", "spec")]
    assert lint(FILES.replace("NAMES", ", namespaceSelector: {}")) == [("MON001", "web", "spec.namespaceSelector")]


@pytest.mark.parametrize(
    "change",
    [
        ("NAMES", ", namespaceSelector: {any: true}"),
        ("NAMES", ", namespaceSelector: {matchNames: [shop, other]}"),
        ("{app: web}}, end", "{}}, end"),
        ("{app: web}}, end", "{app: other}}, end"),
        (", namespace: monitoring", ""),
    ],
)
def test_of_files_nothing_is_said_that_others_may_make_good(change: tuple[str, str]) -> None:
    assert lint(FILES.replace(*change).replace("NAMES", "")) == []


def test_a_namespace_with_more_than_monitors_may_have_the_service() -> None:
    more = "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: grafana, namespace: monitoring}\nspec: {}"
    assert lint(FILES.replace("NAMES", "") + more) == []


def rule(name: str, release: str) -> str:
    return f"""
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {{name: {name}, namespace: monitoring, labels: {{release: {release}}}}}
spec: {{}}
"""


def test_of_files_only_a_misspelt_release_is_odd() -> None:
    same = "".join(rule(name, "platform") for name in "abc")
    assert lint(same + rule("d", "other")) == []
    assert lint(same + rule("d", "platfrom")) == [("MON003", "d", "metadata.labels.release")]
