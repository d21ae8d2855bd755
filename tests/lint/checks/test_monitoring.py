"""ServiceMonitors and PodMonitors that select no targets."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.place import place
from gpuc.lint.checks.monitoring.monitor_targets import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.stages import CompiledSpec
from tests.conftest import compiled_example

Reported = list[tuple[str, str, str]]


@pytest.fixture(scope="module")
def prod() -> CompiledSpec:
    return compiled_example("prod-use1")


def reported(tree: ObjectSet) -> Reported:
    return [(finding.rule.id, finding.manifest.name, place(finding.path)) for finding in findings(tree)]


def broken(spec: CompiledSpec, name: str, change: Callable[[dict[str, Any]], Any], **values: Any) -> Reported:
    """Findings in a compiled spec in which one object is changed."""

    def changed(manifest: Manifest) -> Manifest:
        if manifest.name != name:
            return manifest
        document = deepcopy({"labels": manifest.labels, "body": manifest.body})
        change(document)
        return replace(manifest, labels=document["labels"], body=document["body"])

    made = tuple(map(changed, spec.objects))
    assert made != spec.objects
    return reported(ObjectSet(made, is_complete=True, values={**spec.charts, **values}))


KUEUE, GATEKEEPER, QUEUES = "gpuc-prod-use1-kueue", "gpuc-prod-use1-gatekeeper", "gpuc-prod-use1-queues"


@pytest.mark.parametrize(
    ("name", "where", "value", "rule_id", "at"),
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
def test_a_monitor_without_targets_is_reported(
    prod: CompiledSpec, name: str, where: str, value: Any, rule_id: str, at: str
) -> None:
    assert broken(prod, name, lambda made: made["body"]["spec"].update({where: value})) == [(rule_id, name, at)]


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
