"""Monitoring: alerts can fire, their metrics are collected, and nothing is scraped twice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gpuc.components.gpu_operator.alerts import metric_resource
from gpuc.components.gpu_operator.component import metric_list
from gpuc.emit.alerts import alerts
from gpuc.emit.monitoring import monitoring
from gpuc.manifest.manifest import Manifest, Values
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
    assert {"DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} <= used <= collected
    # MIG slices have no utilization, and the gauge of the last XID hides the XIDs before it.
    assert not {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_XID_ERRORS"} & used


@each_example
def test_the_pods_of_shared_gpus_are_in_the_metrics(name: str) -> None:
    """The exporter only knows nvidia.com/gpu, MIG slices, and the resources in NVIDIA_RESOURCE_NAMES."""
    (policy,) = (manifest for manifest in fleet.manifests(name) if manifest.kind == "ClusterPolicy")
    exporter = policy.body["spec"]["dcgmExporter"]
    env = {row["name"]: row["value"] for row in exporter.get("env", ())}
    shared = any(pool.sharing.mode == "shared" for pool in example(name).gpu_pools)
    wanted = {"KUBERNETES_VIRTUAL_GPUS": "true", "NVIDIA_RESOURCE_NAMES": "nvidia.com/gpu.shared"}
    assert env == (wanted if shared else {})
    monitors = {monitor.name: monitor.body["spec"]["endpoints"][0] for monitor in fleet.manifests(name, "monitoring")
                if monitor.kind == "ServiceMonitor"}  # fmt: skip
    assert monitors[f"gpuc-{name}-gpu-operator"]["honorLabels"] is True


def test_windowed_counts_and_the_traffic_of_nvlink_are_gauges() -> None:
    """rate() and increase() are wrong for these metrics: the exporter measures them in a window, or as a rate."""
    types = dict(line.split(", ")[:2] for line in metric_list(example("prod-use1")).splitlines())
    assert types["DCGM_EXP_XID_ERRORS_COUNT"] == types["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"] == "gauge"


@each_example
def test_every_xid_that_takes_a_gpu_out_is_reported_by_one_rule(name: str) -> None:
    codes = [int(code) for text in expressions(name, "GpucXid") for code in re.findall(r"\d+(?=[|\"])", text)]
    fatal = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "isolate"}
    assert sorted(codes) == sorted(fatal | {94})
    harmless = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "never"}
    assert not harmless & set(codes)


def test_the_advice_for_an_xid_is_that_of_nvidia() -> None:
    """NVIDIA's catalogue: 48 and 64 reset the GPU, 79 and 151 restart the machine, 63 and 171 need no action."""
    rows = example("prod-use1").catalog.xids
    actions = {code: rows[code].action for code in (48, 63, 64, 79, 94, 151, 171, 172)}
    assert actions == {
        48: "reset-gpu",
        63: "none",
        64: "reset-gpu",
        79: "replace-node",
        94: "restart-pod",
        151: "replace-node",
        171: "none",
        172: "none",
    }


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
    readme = fleet.readme(fleet.artifacts(name))
    allowed = set(re.findall(r"allowlist=nodes=\[(.*?)\]", readme)[0].split(","))
    used = {label for rule in rules(name) for label in re.findall(r"\blabel_(?!replace)(\w+)", rule["expr"])}
    assert used == {metric_resource(label) for label in allowed}


@each_example
def test_alerts_do_not_hide_one_another(name: str) -> None:
    """Prometheus merges alerts with the same name and labels."""
    keys = [(rule["alert"], *sorted(rule["labels"].items())) for rule in rules(name)]
    assert len(keys) == len(set(keys))
    for rule in rules(name):
        assert {"cluster", "severity", "team"} <= rule["labels"].keys()
        assert rule["labels"]["cluster"] == name
        assert rule["labels"]["severity"] in ("critical", "warning")


@each_example
def test_an_alert_says_what_is_lost_and_what_to_do(name: str) -> None:
    for rule in rules(name):
        assert rule["annotations"].keys() == {"summary", "description"}
        loss, remedy = re.split(r"(?<=[.]) (?=[A-Z])", rule["annotations"]["summary"])
        assert loss.endswith(".") and remedy.endswith(".")
        assert len(rule["annotations"]["summary"]) <= 200
        assert rule["annotations"]["description"].endswith(".")


@each_example
def test_the_readme_lists_the_alerts_with_their_metrics(name: str) -> None:
    readme = fleet.readme(fleet.artifacts(name))
    rows = dict(re.findall(r"^\| (Gpuc\w+) \| .*? \| (.*) \|$", readme, re.MULTILINE))
    assert rows.keys() == {rule["alert"] for rule in rules(name)}
    used = {metric for cell in rows.values() for metric in cell.split(", ")} - {"none"}
    assert used == {metric for alert in alerts(example(name)) for metric in alert.metrics}
    for metric in used:
        assert metric.split("_")[0] in ("DCGM", "karpenter", "operator", "kueue", "gatekeeper", "kube"), metric
        assert not metric.startswith("kube_") or f"keep\n   {metric}" in readme or f" {metric}" in readme


@each_example
def test_metrics_of_alerts_are_those_of_the_pinned_versions(name: str, shared: Path) -> None:
    """The real Karpenter and the real Kueue wrote these pages. Some counters have no series before the first event."""
    pages = shared / "facts" / "observability" / "expositions"
    known = {
        *re.findall(r"^# TYPE (\w+)", "".join(file.read_text() for file in pages.glob("*.txt")), re.MULTILINE),
        # The recorded Karpenter has another provider. aws/karpenter-provider-aws v1.14.1 website/content/en/docs/
        # reference/metrics.md lists the metric.
        "operator_ec2nodeclass_status_condition_current_status_seconds",
        *("kueue_" + row for row in re.findall(r"name: (\w+), type", (pages.parent / "metrics.yaml").read_text())),
    }
    used = {metric for alert in alerts(example(name)) for metric in alert.metrics}
    assert {metric for metric in used if metric.startswith(("karpenter_", "kueue_", "operator_"))} <= known


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
    with_metrics = ("gatekeeper", "gpu-operator", "karpenter", "kueue")
    assert monitored == {components[component].namespace for component in with_metrics}
    assert values["kueue"]["enablePrometheus"] is False
    assert "serviceMonitor" not in values["karpenter"]  # the chart creates none by default
    (policy,) = (manifest for manifest in fleet.manifests(name) if manifest.kind == "ClusterPolicy")
    assert policy.body["spec"]["dcgmExporter"]["serviceMonitor"]["enabled"] is False


def test_the_layout_alert_exists_only_where_the_operator_cuts_gpus() -> None:
    for name in EXAMPLES:
        by_operator = any(pool.mig_by_operator for pool in example(name).gpu_pools)
        assert bool(expressions(name, "GpucMigLayoutNotReached")) == by_operator


@each_example
def test_s3_a_node_that_keeps_its_startup_taint_is_reported(name: str) -> None:
    found = [rule for rule in rules(name) if rule["alert"] == "GpucNodeTakesNoWork"]
    assert {(rule["labels"]["pool"], rule["for"], rule["labels"]["severity"]) for rule in found} == {
        (pool.name, f"{pool.boot_minutes}m", "critical") for pool in example(name).gpu_pools
    }


def test_c19_new_runs_that_would_not_end_before_their_capacity_block_are_announced() -> None:
    (text,) = expressions("train-usw2", "GpucCapacityBlockEnds")
    # 48 hours, 40 minutes and 18 minutes before 2027-01-31T11:30:00Z
    assert text.startswith("vector(time()) >= 1801218720 < 1801395000 or ")


def test_c19_a_pool_on_hold_needs_no_announcement(variant: Any) -> None:
    block = {"ids": ["cr-0a1b2c3d4e5f6a7b8"], "instances": 16, "block": {"ends": "2027-01-31T11:30:00Z"}}

    def names(hold: bool) -> set[str]:
        section = {"reservations": block, "purchase": ["reserved"]}
        changed = variant(lambda spec: spec["pools"]["train-h100"].update(eks=section, hold=hold))
        return {alert.name for alert in alerts(changed)}

    assert names(hold=False) - names(hold=True) == {"GpucCapacityBlockEnds"}


def test_c20_a_pool_with_only_reserved_capacity_buys_nothing_else() -> None:
    assert not expressions("train-usw2", "GpucReservationUnused")
    (text,) = expressions("prod-use1", "GpucReservationUnused")
    assert text.endswith(">= 12")


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
