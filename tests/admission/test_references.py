"""Objects that a pod names, and its scheduling."""

from typing import Any

import pytest

from gpuc.admission.mutating import mutated
from gpuc.admission.references import reference_decisions
from gpuc.admission.request import Decision
from gpuc.manifest.manifest import Manifest
from tests.admission.cluster import container, manifest, objects, pod
from tests.tables import table

DENIED = table(__file__, "refused.yaml")["references"]


HIGH = manifest("scheduling.k8s.io/v1", "PriorityClass", "high", {"value": 1000, "preemptionPolicy": "Never"})
HEAVY = manifest(
    "node.k8s.io/v1", "RuntimeClass", "heavy",
    {"overhead": {"podFixed": {"cpu": "250m"}}, "scheduling": {"nodeSelector": {"tier": "a"}}},
)  # fmt: skip
OPERATOR = manifest("nvidia.com/v1", "ClusterPolicy", "policy", {"spec": {"operator": {"runtimeClass": "nvidia"}}})


def _decisions(*manifests: Manifest, is_complete: bool = True, **spec: Any) -> list[Decision]:
    tree = objects(*manifests, is_complete=is_complete)
    containers = spec.pop("containers", [container()])
    return list(reference_decisions(tree, mutated(tree, pod(*containers, **spec))))


@pytest.mark.parametrize("name", DENIED)
def test_c27_denied(name: str) -> None:
    spec, message = DENIED[name]
    decision = _decisions(HIGH, HEAVY, **spec)[-1]
    assert (decision.outcome, decision.message) == ("denied", message)
    assert decision.field


@pytest.mark.parametrize("name", ["ServiceAccount", "PriorityClass", "RuntimeClass"])
def test_a_missing_object_is_unknown_in_some_files(name: str) -> None:
    (decision,) = _decisions(is_complete=False, **DENIED[name][0])
    assert (decision.outcome, decision.message) == ("unknown", f"{DENIED[name][1]} in the input")


def test_existing_objects_are_allowed() -> None:
    account = manifest("v1", "ServiceAccount", "builder")
    spec = {"serviceAccountName": "builder", "priorityClassName": "system-node-critical", "runtimeClassName": "heavy"}
    assert _decisions(account, HEAVY, **spec) == []
    assert _decisions(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]) == []


@pytest.mark.parametrize("name", ["nvidia", "nvidia-cdi", "nvidia-legacy"])
def test_the_gpu_operator_creates_runtime_classes(name: str) -> None:
    assert _decisions(OPERATOR, runtimeClassName=name) == []
    assert [row.outcome for row in _decisions(runtimeClassName=name)] == ["denied"]


def test_the_gpu_operator_creates_no_runtime_classes_with_its_nri_plugin() -> None:
    body = {"spec": {"cdi": {"nriPluginEnabled": True}}}
    policy = manifest("nvidia.com/v1", "ClusterPolicy", "policy", body)
    assert [row.outcome for row in _decisions(policy, runtimeClassName="nvidia")] == ["denied"]


def test_a_pod_waits_for_config_maps_and_secrets() -> None:
    env = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "a"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "optional", "key": "a", "optional": True}}},
    ]
    spec = {
        "containers": [container(env=env, envFrom=[{"configMapRef": {"name": "settings"}}])],
        "volumes": [
            {"name": "a", "secret": {"secretName": "certificate"}},
            {"name": "b", "configMap": {"name": "known"}},
            {"name": "c", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
        ],
        "imagePullSecrets": [{"name": "registry"}],
    }
    rows = _decisions(manifest("v1", "ConfigMap", "known"), **spec)
    assert [(row.outcome, row.check) for row in rows] == [
        ("assumed", "Secret team/certificate"),
        ("assumed", "ConfigMap team/settings"),
        ("assumed", "Secret team/key"),
        ("warned", "Secret registry"),
    ]
    message = "Secret team/certificate is not in the input; without the Secret, the containers do not start"
    assert rows[0].message == message
    assert rows[-1].message == "Secret team/registry is not in the input; the kubelet pulls the images without it"
    assert _decisions(is_complete=False, **spec) == []


UNKNOWN: dict[str, dict[str, Any]] = {
    "PersistentVolumeClaim team/data": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]},
    "ResourceClaims": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
    "nodeName": {"nodeName": "ip-10-0-0-1"},
    "schedulerName": {"schedulerName": "volcano"},
}


@pytest.mark.parametrize("check", UNKNOWN)
def test_c27_unknown(check: str) -> None:
    (decision,) = _decisions(**UNKNOWN[check])
    assert (decision.outcome, decision.check) == ("unknown", check)


def test_a_claim_of_the_input_with_a_volume_is_known() -> None:
    claim = manifest("v1", "PersistentVolumeClaim", "data", {"spec": {"volumeName": "pv-1"}})
    assert _decisions(claim, **UNKNOWN["PersistentVolumeClaim team/data"]) == []
    assert _decisions(schedulerName="default-scheduler") == []
