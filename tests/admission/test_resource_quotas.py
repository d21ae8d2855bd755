"""ResourceQuotas: keys, scopes, and values that containers need."""

from typing import Any

import pytest

from gpuc.admission.mutating import mutated
from gpuc.admission.request import Decision, Request
from gpuc.admission.resource_quotas import quota_decisions
from gpuc.manifest.manifest import Manifest
from tests.admission.cluster import NAMESPACE, container, manifest, objects, pod


def _quota(hard: dict[str, str], **spec: Any) -> Manifest:
    return manifest("v1", "ResourceQuota", "quota", {"spec": {"hard": hard, **spec}})


def _decisions(quota: Manifest, request: Request, count: int = 1) -> list[Decision]:
    tree = objects(quota, manifest("scheduling.k8s.io/v1", "PriorityClass", "high", {"value": 9}))
    return list(quota_decisions(tree, NAMESPACE, [(mutated(tree, request), count)]))


def _object(api: str, kind: str, **body: Any) -> Request:
    metadata = {"name": "x", "namespace": NAMESPACE}
    return Request({"apiVersion": api, "kind": kind, "metadata": metadata, **body}, "user")


BOTH = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
POD = pod(container(resources=BOTH))
GPU = pod(container(resources={"limits": {"nvidia.com/gpu": "4", "hugepages-2Mi": "4Mi"}}))
EXCEEDED: dict[str, tuple[Request, str, str]] = {
    "cpu": (POD, "3", "2"),
    "requests.cpu": (POD, "3", "2"),
    "limits.cpu": (POD, "6", "5"),
    "memory": (POD, "3Gi", "2Gi"),
    "limits.memory": (POD, "6Gi", "5Gi"),
    "pods": (POD, "3", "2"),
    "count/pods": (POD, "3", "2"),
    "requests.nvidia.com/gpu": (GPU, "12", "11"),
    "hugepages-2Mi": (GPU, "12Mi", "11Mi"),
    "requests.hugepages-2Mi": (GPU, "12Mi", "11Mi"),
    "count/jobs.batch": (_object("batch/v1", "Job"), "3", "2"),
    "count/networkpolicies.networking.k8s.io": (_object("networking.k8s.io/v1", "NetworkPolicy"), "3", "2"),
    "configmaps": (_object("v1", "ConfigMap"), "3", "2"),
    "count/secrets": (_object("v1", "Secret"), "3", "2"),
    "services": (_object("v1", "Service", spec={}), "3", "2"),
    "services.loadbalancers": (_object("v1", "Service", spec={"type": "LoadBalancer", "ports": [{}]}), "3", "2"),
    "services.nodeports": (_object("v1", "Service", spec={"type": "NodePort", "ports": [{}, {}]}), "6", "5"),
    "persistentvolumeclaims": (_object("v1", "PersistentVolumeClaim", spec={}), "3", "2"),
    "requests.storage": (
        _object("v1", "PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "1Gi"}}}), "3Gi", "2Gi",
    ),
    "gp3.storageclass.storage.k8s.io/persistentvolumeclaims": (
        _object("v1", "PersistentVolumeClaim", spec={"storageClassName": "gp3"}), "3", "2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", EXCEEDED)
def test_c27_every_key_counts(key: str) -> None:
    request, enough, too_small = EXCEEDED[key]
    assert [row.outcome for row in _decisions(_quota({key: enough}), request, 3)] == ["allowed"]
    (decision,) = _decisions(_quota({key: too_small}), request, 3)
    assert (decision.outcome, decision.check, decision.path) == (
        "denied",
        "ResourceQuota team/quota",
        ("spec", "hard", key),
    )
    assert decision.message.endswith("which is enough for 2 of 3")
    assert decision.fix == "create at most 2 at the same time"


IGNORED = {
    "nvidia.com/gpu": GPU,
    "limits.nvidia.com/gpu": GPU,
    "services.loadbalancers": _object("v1", "Service", spec={"ports": [{}]}),
    "jobs.batch": _object("batch/v1", "Job"),
    "events": _object("v1", "Event"),
    "pods": _object("batch/v1", "Job"),
}


@pytest.mark.parametrize("key", IGNORED)
def test_some_keys_do_not_count(key: str) -> None:
    assert not [row for row in _decisions(_quota({key: "0"}), IGNORED[key]) if row.outcome == "denied"]


@pytest.mark.parametrize("key", ["cpu", "requests.memory", "limits.cpu", "limits.memory"])
def test_c27_a_quota_on_cpu_or_memory_needs_values_in_all_containers(key: str) -> None:
    name = key.rpartition(".")[2]
    quota = _quota({key: "100Gi"})
    (decision,) = _decisions(quota, pod(container(resources=BOTH), container(name="second")))
    side = "limit" if key.startswith("limits") else "request"
    assert decision.outcome == "denied"
    assert decision.message == (
        f"container second has no {side} of {name}, which ResourceQuota team/quota requires because of its key {key}"
    )
    assert decision.field == ("spec", "containers", 1, "resources", f"{side}s", name)
    whole = pod(container(), resources={"requests": {"cpu": "1"}})
    assert [row.outcome for row in _decisions(quota, whole)] == ["allowed"]


def test_other_resources_need_no_values() -> None:
    hard = {"requests.nvidia.com/gpu": "1", "requests.ephemeral-storage": "1Gi", "pods": "1"}
    assert [row.outcome for row in _decisions(_quota(hard), pod())] == ["allowed"]


AFFINITY = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"namespaceSelector": {}}}]
    }
}


def _priority(operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


HIGH = pod(priorityClassName="high")
SCOPES: list[tuple[dict[str, Any], Request, Request]] = [
    ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=0), pod()),
    ({"scopes": ["NotTerminating"]}, pod(), pod(activeDeadlineSeconds=60)),
    ({"scopes": ["BestEffort"]}, pod(), POD),
    ({"scopes": ["BestEffort"]}, GPU, POD),
    ({"scopes": ["NotBestEffort"]}, POD, pod()),
    ({"scopes": ["Terminating", "BestEffort"]}, pod(activeDeadlineSeconds=1), pod()),
    ({"scopes": ["CrossNamespacePodAffinity"]}, pod(affinity=AFFINITY), pod()),
    ({"scopes": ["PriorityClass"]}, HIGH, pod()),
    (_priority("In", "high"), HIGH, pod()),
    (_priority("NotIn", "high"), pod(), HIGH),
    (_priority("Exists"), HIGH, pod()),
    (_priority("DoesNotExist"), pod(), HIGH),
]


@pytest.mark.parametrize(("spec", "counted", "ignored"), SCOPES)
def test_c27_scopes(spec: dict[str, Any], counted: Request, ignored: Request) -> None:
    quota = _quota({"pods": "0"}, **spec)
    assert [row.outcome for row in _decisions(quota, counted)] == ["denied"]
    assert _decisions(quota, ignored) == []


def test_objects_without_scopes_do_not_count_for_a_quota_with_scopes() -> None:
    quota = _quota({"count/jobs.batch": "0"}, scopes=["NotTerminating"])
    assert _decisions(quota, _object("batch/v1", "Job")) == []


def test_overhead_counts() -> None:
    runtime = manifest("node.k8s.io/v1", "RuntimeClass", "heavy", {"overhead": {"podFixed": {"cpu": "1"}}})
    tree = objects(runtime, _quota({"requests.cpu": "1500m", "limits.cpu": "9"}))
    request = mutated(tree, pod(container(resources=BOTH), runtimeClassName="heavy"))
    (decision,) = quota_decisions(tree, NAMESPACE, [(request, 1)])
    assert decision.message == "the pods need 2 of requests.cpu; the quota of the namespace is 1500m"


def test_different_pods_count_together() -> None:
    tree = objects(_quota({"pods": "3"}))
    (decision,) = quota_decisions(tree, NAMESPACE, [(POD, 2), (GPU, 2)])
    assert (decision.outcome, decision.fix) == ("denied", "")
    assert decision.message == "the pods need 4 of pods; the quota of the namespace is 3"
