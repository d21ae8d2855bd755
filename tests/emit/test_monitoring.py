"""Monitoring: alerts can fire, their metrics are collected, and nothing is scraped twice."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpuc.components.gpu_operator.component import metric_list
from gpuc.components.gpu_operator.records import metric_resource
from gpuc.emit.alerts import alerts, metrics
from gpuc.emit.alerts.promql import metric_names
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

each_example = pytest.mark.parametrize("name", EXAMPLES)


def rules(name: str) -> list[dict[str, Any]]:
    groups = [
        manifest.body["spec"]["groups"]
        for manifest in fleet.manifests(name, "monitoring")
        if manifest.kind == "PrometheusRule"
    ]
    return [rule for manifest_groups in groups for group in manifest_groups for rule in group["rules"]]


def alert_rules(name: str) -> list[dict[str, Any]]:
    return [rule for rule in rules(name) if "alert" in rule]


@each_example
def test_gpu_metrics_of_alerts_are_in_the_exporters_list(name: str) -> None:
    cluster = example(name)
    collected = {line.split(",")[0] for line in metric_list(cluster).splitlines()}
    used = {metric for rule in rules(name) for metric in re.findall(r"DCGM_\w+", rule["expr"])}
    assert {"DCGM_EXP_XID_ERRORS_COUNT", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"} <= used <= collected
    # MIG slices have no utilization, and the gauge of the last XID hides the XIDs before it.
    assert not {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_XID_ERRORS"} & used


@each_example
def test_every_xid_that_takes_a_gpu_out_is_reported_by_one_rule(name: str) -> None:
    known = [rule["labels"] for rule in rules(name) if rule.get("record") == "gpuc:xid:info"]
    codes = [int(labels["xid"]) for labels in known]
    fatal = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "isolate"}
    assert sorted(codes) == sorted(fatal | {94})
    harmless = {xid.xid for xid in example(name).catalog.xids.values() if xid.isolation == "never"}
    assert not harmless & set(codes)
    alerts = [rule for rule in rules(name) if rule.get("alert") == "GpucXid"]
    assert {labels["level"] for labels in known} == {rule["labels"]["severity"] for rule in alerts}


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
def test_an_alert_says_what_is_lost_and_what_to_do(name: str) -> None:
    for rule in alert_rules(name):
        assert rule["annotations"].keys() == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"].endswith(f"/clusters/{name}/RUNBOOK.md#{rule['alert'].lower()}")
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        loss, remedy = re.split(r"(?<=[.]) (?=[A-Z])", rule["annotations"]["summary"])
        assert loss.endswith(".") and remedy.endswith(".")
        assert len(rule["annotations"]["summary"]) <= 200
        assert rule["annotations"]["description"].endswith(".")


@each_example
def test_the_readme_lists_the_alerts_with_their_metrics(name: str) -> None:
    readme = fleet.readme(fleet.artifacts(name))
    rows = dict(re.findall(r"^\| (Gpuc\w+) \| .*? \| (.*) \|$", readme, re.MULTILINE))
    assert rows.keys() == {rule["alert"] for rule in alert_rules(name)}
    used = {metric for cell in rows.values() for metric in cell.split(", ")} - {"none"}
    assert used == {metric for alert in alerts(example(name)) for metric in metrics(example(name))[alert.name]}
    for metric in used:
        programs = ("DCGM", "karpenter", "operator", "kueue", "gatekeeper", "kube", "leader")
        assert metric.split("_")[0] in programs, metric
        assert not metric.startswith("kube_") or f"keep\n   {metric}" in readme or f" {metric}" in readme


@each_example
def test_each_recorded_series_that_a_rule_reads_is_recorded(name: str) -> None:
    facts = {rule["record"] for rule in rules(name) if rule["expr"].startswith("vector(") and "record" in rule}
    recorded = set(facts)
    for rule in sorted(rules(name), key=lambda rule: "alert" in rule):
        assert {series for series in metric_names(rule["expr"]) if series.startswith("gpuc:")} <= recorded
        recorded |= {rule["record"]} if "record" in rule else set()


@each_example
def test_metrics_of_rules_are_those_of_the_pinned_versions(name: str, shared: Path) -> None:
    """The real Karpenter and the real Kueue wrote these pages. Some counters have no series before the first event."""
    pages = shared / "facts" / "observability" / "expositions"
    known = {
        *re.findall(r"^# TYPE (\w+)", "".join(file.read_text() for file in pages.glob("*.txt")), re.MULTILINE),
        # The recorded Karpenter has another provider. aws/karpenter-provider-aws v1.14.1 website/content/en/docs/
        # reference/metrics.md lists the metric.
        "operator_ec2nodeclass_status_condition_current_status_seconds",
        *("kueue_" + row for row in re.findall(r"name: (\w+), type", (pages.parent / "metrics.yaml").read_text())),
        # Karpenter writes these only for NodePools with limits, and after the first repair.
        *("karpenter_nodepools_limit", "karpenter_nodeclaims_unhealthy_disrupted_total"),
    }
    used = {metric for rule in rules(name) for metric in metric_names(rule["expr"])}
    assert {metric for metric in used if metric.startswith(("karpenter_", "kueue_", "operator_"))} <= known


def test_c19_a_pool_on_hold_needs_no_announcement(variant: Any) -> None:
    block = {"ids": ["cr-0a1b2c3d4e5f6a7b8"], "instances": 16, "block": {"ends": "2027-01-31T11:30:00Z"}}

    def names(hold: bool) -> set[str]:
        section = {"reservations": block, "purchase": ["reserved"]}
        changed = variant(lambda spec: spec["pools"]["train-h100"].update(eks=section, hold=hold))
        return {alert.name for alert in alerts(changed)}

    assert names(hold=False) - names(hold=True) == {"GpucCapacityBlockEnds"}
