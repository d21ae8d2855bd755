"""Labels of node pools that select a configuration of the GPU operator, from its chart's values."""

from __future__ import annotations

from typing import Any

import pytest

from gpuc.diagnostics.place import place
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example
from tests.lint.checks.references.trees import replaced, tree, with_value
from tests.lint.checks.topics import references as findings


def pool(labels: str) -> str:
    """A node pool whose nodes have labels."""
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec: {{template: {{metadata: {{labels: {labels}}}}}}}
"""


def of_values(values: Any, labels: str) -> list[str]:
    """Messages about a pool, with these values of the GPU operator's chart."""
    made = ObjectSet(tree(pool(labels)).manifests, is_complete=True, values={"gpu-operator": values})
    return [finding.message for finding in findings(made) if finding.rule.id == "REF026"]


def test_labels_select_from_the_charts_values() -> None:
    data = {"exclusive": "version: v1", "sliced": "version: v1"}
    layouts = {"config.yaml": "mig-configs: {halves: []}"}
    values = {
        "devicePlugin": {"config": {"create": True, "name": "a", "data": data}},
        "migManager": {"enabled": True, "config": {"create": True, "name": "b", "data": layouts}},
    }
    assert of_values(values, "{nvidia.com/device-plugin.config: sliced, nvidia.com/mig.config: halves}") == []
    assert of_values(values, "{nvidia.com/device-plugin.config: silced, nvidia.com/mig.config: thirds}") == [
        "in the GPU operator's values, devicePlugin.config.data: "
        'the configuration "silced" does not exist, did you mean "sliced"',
        "in the GPU operator's values, migManager.config.data: "
        'the configuration "thirds" does not exist; existing: halves',
    ]
    off = {**values, "migManager": {**values["migManager"], "enabled": False}}
    assert of_values(off, "{nvidia.com/mig.config: halves}") == [
        "no program reads this label: migManager.enabled is false in the values of the GPU operator"
    ]
    elsewhere = {"devicePlugin": {"config": {"create": False, "name": "a", "data": data}}}
    assert of_values(elsewhere, "{nvidia.com/device-plugin.config: other}") == []


@pytest.mark.parametrize("strange", [None, 7, "", [], {"config": 7}, {"config": {"create": True, "data": [7]}}])
def test_any_value_is_accepted(strange: Any) -> None:
    values = {"devicePlugin": strange, "migManager": strange}
    assert of_values(values, "{nvidia.com/device-plugin.config: a, nvidia.com/mig.config: a}") == []


@pytest.mark.parametrize("label", ["nvidia.com/device-plugin.config", "nvidia.com/mig.config"])
def test_a_wrong_label_in_an_example_is_reported_at_its_path(label: str) -> None:
    spec = compiled_example("infer-euw1")
    pool = next(manifest for manifest in spec.objects if manifest.kind == "NodePool" and manifest.name == "models-a100")
    path = ("spec", "template", "metadata", "labels", label)
    broken = replaced(spec.objects, pool, with_value(pool, path, "other"))
    found = list(findings(ObjectSet(broken, is_complete=True, values=spec.charts)))
    assert [(finding.rule.id, finding.manifest.name, finding.path) for finding in found] == [
        ("REF026", "models-a100", path)
    ]
    assert list(findings(ObjectSet(spec.objects, is_complete=True, values=spec.charts))) == []


def test_a_policy_names_a_config_map_of_the_chart() -> None:
    """With clusterPolicy.deployCR off the chart creates the ConfigMaps, and the input has the ClusterPolicy."""
    values = {
        "clusterPolicy": {"deployCR": False},
        "devicePlugin": {"config": {"create": True, "name": "sharing", "data": {"exclusive": "version: v1"}}},
    }
    policy = """
    apiVersion: nvidia.com/v1
    kind: ClusterPolicy
    metadata: {name: cluster-policy}
    spec: {devicePlugin: {config: {name: NAME, default: DEFAULT}}}
    """

    def found(name: str, default: str) -> list[tuple[str, str]]:
        text = policy.replace("NAME", name).replace("DEFAULT", default)
        made = ObjectSet(tree(text).manifests, is_complete=True, values={"gpu-operator": values})
        return [(finding.rule.id, place(finding.path)) for finding in findings(made)]

    assert found("sharing", "exclusive") == []
    assert found("sharing", "shared") == [("REF026", "spec.devicePlugin.config.default")]
    assert ("REF006", "spec.devicePlugin.config.name") in found("others", "exclusive")


def test_an_operator_without_a_policy_is_reported() -> None:
    application = """
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: gpu, namespace: argocd}
    spec:
      project: default
      destination: {server: https://kubernetes.default.svc, namespace: gpu-operator}
      source: {repoURL: https://helm.ngc.nvidia.com/nvidia, chart: gpu-operator, targetRevision: v26.7.0}
    """

    def found(values: dict[str, object], *, is_complete: bool = True) -> list[str]:
        made = ObjectSet(tree(application).manifests, is_complete=is_complete, values={"gpu-operator": values})
        return [finding.rule.id for finding in findings(made) if finding.rule.id == "REF014"]

    assert found({"clusterPolicy": {"deployCR": False}}) == ["REF014"]
    assert found({"clusterPolicy": {"deployCR": False}, "gpuCluster": {"deployCR": True}}) == []
    assert found({}) == [] and found({"clusterPolicy": {"deployCR": False}}, is_complete=False) == []
