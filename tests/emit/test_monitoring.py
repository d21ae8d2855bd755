"""Monitoring: alerts can fire, their metrics are collected, and nothing is scraped twice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpuc.emit.alerts import EXTRA_XIDS, metric_resource
from gpuc.emit.metrics import metric_list
from gpuc.emit.monitoring import monitoring
from gpuc.manifest.manifest import Manifest, Text, Values
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

each_example = pytest.mark.parametrize("name", EXAMPLES)

OPENING = {"(": ")", "{": "}", "[": "]"}


def rules(name: str) -> list[dict[str, Any]]:
    groups = [
        manifest.body["spec"]["groups"]
        for manifest in fleet.manifests(name, "monitoring")
        if manifest.kind == "PrometheusRule"
    ]
    return [rule for manifest_groups in groups for group in manifest_groups for rule in group["rules"]]


def expressions(name: str, alert: str) -> list[str]:
    return [rule["expr"] for rule in rules(name) if rule["alert"] == alert]


def closes(expression: str) -> bool:
    """Returns whether all brackets outside of strings are closed in order."""
    waiting: list[str] = []
    for character in re.sub(r'"(\\.|[^"\\])*"', '""', expression):
        if character in OPENING:
            waiting.append(OPENING[character])
        elif character in OPENING.values() and (not waiting or waiting.pop() != character):
            return False
    return not waiting


@each_example
def test_expressions_close_and_where_a_parser_is_installed_parse(name: str) -> None:
    texts = [rule["expr"] for rule in rules(name)]
    assert len(texts) > 10
    for text in texts:
        assert closes(text), text
    parser = pytest.importorskip("promql_parser", reason="promql-parser is not installed: brackets were checked only")
    for text in texts:
        parser.parse(text)


@each_example
def test_gpu_metrics_of_alerts_are_in_the_exporters_list(name: str) -> None:
    cluster = example(name)
    collected = {line.split(",")[0] for line in metric_list(cluster).splitlines()}
    used = {metric for rule in rules(name) for metric in re.findall(r"DCGM_\w+", rule["expr"])}
    assert {"DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} <= used <= collected
    assert "DCGM_FI_DEV_GPU_UTIL" not in used


@each_example
def test_every_xid_that_takes_a_gpu_out_is_reported_once(name: str) -> None:
    codes = [int(code) for text in expressions(name, "GpucXid") for code in re.findall(r"== (\d+)", text)]
    fatal = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "isolate"}
    assert sorted(codes) == sorted(fatal | set(EXTRA_XIDS))
    harmless = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "never"}
    assert not harmless & set(codes)


@each_example
def test_what_pools_advertise_is_watched_for_each_type_and_resource(name: str) -> None:
    texts = expressions(name, "GpucNotAsAdvertised")
    for pool in example(name).gpu_pools:
        for instance in pool.instances:
            for resource, count in pool.advertised(instance).items():
                wanted = f'resource="{metric_resource(resource)}"}} == {count}'
                assert any(f'"{pool.name}"' in text and wanted in text for text in texts), (pool.name, resource)


def test_resources_are_spelled_as_kube_state_metrics_does() -> None:
    assert metric_resource("nvidia.com/mig-1g.10gb.me") == "nvidia_com_mig_1g_10gb_me"
    assert metric_resource("hugepages-2Mi") == "hugepages_2Mi"


@each_example
def test_labels_that_alerts_join_on_are_asked_for_in_the_readme(name: str) -> None:
    (readme,) = (
        artifact.text
        for artifact in fleet.artifacts(name)
        if isinstance(artifact, Text) and artifact.file.endswith("README.md")
    )
    allowed = set(re.findall(r"allowlist=nodes=\[(.*?)\]", readme)[0].split(","))
    used = {label for rule in rules(name) for label in re.findall(r"\blabel_(?!replace)(\w+)", rule["expr"])}
    assert used == {metric_resource(label) for label in allowed}


@each_example
def test_alerts_do_not_hide_one_another(name: str) -> None:
    """Prometheus merges alerts with the same name and labels. Only rules for XIDs differ by the metric value."""
    keys = set()
    for rule in rules(name):
        if rule["alert"] != "GpucXid":
            key = (rule["alert"], rule["labels"].get("resource"), rule["expr"])
            assert key not in keys
            keys.add(key)
        assert {"cluster", "severity", "team"} <= rule["labels"].keys()
        assert rule["labels"]["cluster"] == name


@each_example
def test_an_alert_has_a_summary_and_a_first_action(name: str) -> None:
    for rule in rules(name):
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["annotations"]["description"].endswith(".")


@each_example
def test_monitors_and_rules_carry_the_label_that_prometheus_selects(name: str) -> None:
    observability = example(name).spec.observability
    for manifest in fleet.manifests(name, "monitoring"):
        assert manifest.labels["release"] == observability.prometheus.release
        assert manifest.namespace == observability.namespace


@each_example
def test_nothing_is_scraped_twice_and_what_alerts_use_is_scraped(name: str) -> None:
    monitored = {
        namespace
        for manifest in fleet.manifests(name, "monitoring")
        if manifest.kind in ("ServiceMonitor", "PodMonitor")
        for namespace in manifest.body["spec"]["namespaceSelector"]["matchNames"]
    }
    values = {artifact.component: artifact.body for artifact in fleet.artifacts(name) if isinstance(artifact, Values)}
    components = example(name).components
    assert monitored == {components["kueue"].namespace, components["gatekeeper"].namespace}
    assert values["kueue"]["enablePrometheus"] is False
    assert values["karpenter"]["serviceMonitor"]["enabled"] is True
    (policy,) = (manifest for manifest in fleet.manifests(name) if manifest.kind == "ClusterPolicy")
    assert policy.body["spec"]["dcgmExporter"]["serviceMonitor"]["enabled"] is True


def test_the_layout_alert_exists_only_where_the_operator_cuts_gpus() -> None:
    for name in EXAMPLES:
        by_operator = any(pool.mig_by_operator for pool in example(name).gpu_pools)
        assert bool(expressions(name, "GpucMigLayoutNotReached")) == by_operator


@each_example
def test_s3_a_node_that_keeps_its_startup_taint_is_reported(name: str) -> None:
    rules = [
        rule
        for manifest in fleet.manifests(name, "monitoring")
        if manifest.kind == "PrometheusRule"
        for group in manifest.body["spec"]["groups"]
        for rule in group["rules"]
        if rule.get("alert") == "GpucNodeTakesNoWork"
    ]
    assert {(rule["expr"], rule["for"], rule["labels"]["severity"]) for rule in rules} == {
        (
            'max by (node) (kube_node_spec_taint{key="gpuc.dev/gpus"}) '
            f'and on (node) kube_node_labels{{label_gpuc_dev_pool="{pool.name}"}}',
            f"{pool.boot_minutes}m",
            "critical",
        )
        for pool in example(name).gpu_pools
    }


def test_a_capacity_block_is_announced_a_day_before_it_ends() -> None:
    (text,) = expressions("train-usw2", "GpucCapacityBlockEnds")
    assert text == "vector(1801395000) - vector(time()) < 86400"  # 2027-01-31T11:30:00Z


def test_spot_interruptions_are_measured_against_checkpoints() -> None:
    (text,) = expressions("prod-use1", "GpucSpotInterrupted")
    assert 'nodepool="batch-a100"' in text and text.endswith("> 3")  # six checkpoints an hour


def test_a_slow_pool_is_given_its_time(variant: Any) -> None:
    changed = variant(lambda spec: None)
    emitted = [
        manifest
        for manifest in monitoring(changed)
        if isinstance(manifest, Manifest) and manifest.kind == "PrometheusRule"
    ]
    slowest = max(pool.boot_minutes for pool in changed.pools)
    (text,) = (
        rule["expr"]
        for manifest in emitted
        for rule in manifest.body["spec"]["groups"][0]["rules"]
        if rule["alert"] == "GpucNodeNotInitialized"
    )
    assert slowest > 20 and text.endswith(f"> {slowest * 60}")
