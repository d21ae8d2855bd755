"""The checks of Helm values."""

from __future__ import annotations

from typing import Any

import pytest

from gpuc.manifest.manifest import Values
from tests.verify.findings import verify_values

RELEASES = dict.fromkeys(["efa", "gatekeeper", "gpu-operator", "karpenter", "karpenter-crd", "kueue"], "1.0.0")
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def ids_and_messages(component: str, body: dict[str, Any]) -> list[tuple[str, str]]:
    values = Values(f"out/a/{component}/values.yaml", ("spec", "releases"), component, body)
    found = verify_values([values], RELEASES)
    return [(item.id, item.message.partition(f"values of {component}: ")[2]) for item in found]


@pytest.mark.parametrize(
    ("component", "body"),
    [
        ("gpu-operator", {"dcgmExporter": {"podLabelAllowlistRegex": ["^a$"]}}),
        ("gpu-operator", {"dcgmExporter": {"config": {"name": "metrics", "create": True, "data": "A, gauge, b"}}}),
        ("gpu-operator", {"mig": {"strategy": "mixed"}}),
        ("gpu-operator", {"mig": {"strategy": ""}, "clusterPolicy": {"deployCR": False}}),
        ("karpenter", {"serviceMonitor": {"enabled": True}}),
        ("gpu-operator", {"driver": {"kernelModuleType": "open", "upgradePolicy": {"maxUnavailable": "25%"}}}),
        ("gpu-operator", {"toolkit": {"env": [{"name": "A", "value": "false"}]}}),
        ("gpu-operator", {"devicePlugin": {"config": {"create": True, "default": "a", "data": {"a": "version: v1"}}}}),
        ("gpu-operator", {"validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}}}),
        ("gpu-operator", {"daemonsets": {"tolerations": [TOLERATION]}}),
        ("gpu-operator", {"node-feature-discovery": {"worker": {"tolerations": [TOLERATION]}}}),
        ("karpenter", {"settings": {"featureGates": {"nodeOverlay": True}, "interruptionQueue": "q"}, "replicas": 2}),
        ("karpenter", {"nodeSelector": {"a": "b"}, "serviceMonitor": {"additionalLabels": {"release": "p"}}}),
        ("kueue", {"controllerManager": {"featureGates": [{"name": "A", "enabled": True}], "replicas": 2}}),
        ("gatekeeper", {"controllerManager": {"exemptNamespaces": ["kube-system"]}, "replicas": 3}),
        ("efa", {"tolerations": [TOLERATION], "supportedInstanceLabels": {"values": ["p5.48xlarge"]}}),
        ("karpenter-crd", {"additionalAnnotations": {"a": "b"}}),
    ],
)
def test_keys_that_the_charts_read_are_accepted(component: str, body: dict[str, Any]) -> None:
    assert ids_and_messages(component, body) == []


@pytest.mark.parametrize(
    ("body", "value", "field"),
    [
        ({"mig": {"strategy": ""}}, "mig.strategy", "spec.mig"),
        (
            {"operator": {"runtimeClass": ""}, "clusterPolicy": {"deployCR": True}},
            "operator.runtimeClass",
            "spec.operator",
        ),
        ({"hostPaths": {"rootFS": ""}}, "hostPaths.rootFS", "spec.hostPaths.rootFS"),
    ],
)
def test_an_empty_value_that_renders_to_a_null_is_refused(body: dict[str, Any], value: str, field: str) -> None:
    """The values that gpuc wrote before were accepted, and the API server refused the object that came of them."""
    message = f"{value}: the value is empty, so the chart renders ClusterPolicy with a null at {field}"
    assert ids_and_messages("gpu-operator", body) == [("VAL004", message)]


def test_values_that_render_to_a_null_are_known_for_the_pinned_charts() -> None:
    from gpuc.catalog import load

    catalog = load()
    for component, rows in catalog.null_fields.items():
        for row in rows:
            assert row.version == catalog.releases["2026.08"][component].version, row


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"driver": {"useOpenKernelModules": True}}, "driver.useOpenKernelModules"),
        ({"cdi": {"default": True}}, "cdi.default"),
        ({"operator": {"defaultRuntime": "containerd"}}, "operator.defaultRuntime"),
        ({"dcgm": {"hostPort": 5555}}, "dcgm.hostPort"),
        ({"driver": {"maxParallelUpgrades": 1}}, "driver.maxParallelUpgrades"),
        ({"dcgmExporter": {"config": {"default": "a"}}}, "dcgmExporter.config.default"),
        ({"kataManager": {"enabled": False}}, "kataManager"),
        ({"node-feature-discovery": {"workers": {}}}, "node-feature-discovery.workers"),
    ],
)
def test_keys_that_the_gpu_operator_ignores_are_refused(body: dict[str, Any], place: str) -> None:
    ((identity, message),) = ids_and_messages("gpu-operator", body)
    assert identity == "VAL001"
    assert message.startswith(f"{place}: unknown field")


@pytest.mark.parametrize(
    ("component", "body"),
    [
        ("gpu-operator", {"driver": {"enabled": "true"}}),
        ("gpu-operator", {"mig": {"strategy": "both"}}),
        ("gpu-operator", {"dcgmExporter": {"config": {"data": {"dcgm-metrics.csv": "A"}}}}),
        ("gpu-operator", {"toolkit": {"env": [{"name": "A", "value": True}]}}),
        ("gpu-operator", {"daemonsets": {"tolerations": [{"operator": "Exists", "tolerationSeconds": "9"}]}}),
        ("karpenter", {"replicas": "2"}),
        ("karpenter", {"nodeSelector": {"a": True}}),
        ("gatekeeper", {"validatingWebhookFailurePolicy": "ignore"}),
        ("kueue", {"managerConfig": {"controllerManagerConfigYaml": {"kind": "Configuration"}}}),
    ],
)
def test_values_of_another_type_or_word_are_refused(component: str, body: dict[str, Any]) -> None:
    assert [identity for identity, _ in ids_and_messages(component, body)] == ["VAL002"]


def test_a_misspelled_key_is_reported_with_a_suggestion() -> None:
    assert ids_and_messages("karpenter", {"settings": {"interuptionQueue": "q"}}) == [
        ("VAL001", 'settings.interuptionQueue: unknown field, did you mean "interruptionQueue"')
    ]


def test_values_of_a_chart_without_a_schema_or_a_release_are_refused() -> None:
    ((identity, message),) = ids_and_messages("hami", {})
    assert identity == "VAL001"
    assert message == 'chart "hami" has no schema for its values: run python -m tests.derive'
    (found,) = verify_values([Values("out/x/efa/values.yaml", (), "efa", {})], {"kueue": ""})
    assert (
        found.message
        == 'out/x/efa/values.yaml: values of efa: chart "efa" is not among the releases of the cluster: kueue'
    )


HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
FULL = (
    HEAD
    + """
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchExpressions: [{key: gpuc.dev/tenant, operator: Exists}]}
waitForPodsReady:
  timeout: 25m
  recoveryTimeout: 10m
  blockAdmission: false
  requeuingStrategy: {timestamp: Eviction, backoffBaseSeconds: 60, backoffMaxSeconds: 1800}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob]}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}
resources: {excludeResourcePrefixes: [example.com]}
objectRetentionPolicies: {workloads: {afterFinished: 168h}}
"""
)


def configuration(text: str) -> list[tuple[str, str]]:
    found = ids_and_messages("kueue", {"managerConfig": {"controllerManagerConfigYaml": text}})
    return [
        (identity, message.removeprefix("managerConfig.controllerManagerConfigYaml").lstrip(".: "))
        for identity, message in found
    ]


def test_a_full_kueue_configuration_is_accepted() -> None:
    assert configuration(FULL) == []


@pytest.mark.parametrize(
    ("text", "identity", "place"),
    [
        (HEAD + "waitForPodReady: {timeout: 5m}", "VAL001", "waitForPodReady"),
        (HEAD + "waitForPodsReady: {enable: true, timeout: 5m}", "VAL001", "waitForPodsReady.enable"),
        (HEAD + "waitForPodsReady: {timeout: 5 minutes}", "VAL002", "waitForPodsReady.timeout"),
        (HEAD + "waitForPodsReady: {blockAdmission: true}", "VAL002", "waitForPodsReady.timeout"),
        (HEAD + "integrations: {frameworks: [batch/jobs]}", "VAL002", "integrations.frameworks[0]"),
        (HEAD + "integrations: {podOptions: {}}", "VAL001", "integrations.podOptions"),
        (HEAD + "fairSharing: {enable: true}", "VAL001", "fairSharing.enable"),
        (HEAD.replace("v1beta2", "v1beta1"), "VAL002", "apiVersion"),
        ("kind: [", "VAL002", "not YAML"),
    ],
)
def test_mistakes_in_the_kueue_configuration_are_reported(text: str, identity: str, place: str) -> None:
    ((found, message),) = configuration(text)
    assert found == identity
    assert message.startswith(place)
