"""The changes of built-in admission plugins to a pod."""

from typing import Any

from gpuc.admission.mutating import merge, mutated
from gpuc.objects.object_set import ObjectSet
from tests.admission.cluster import container, manifest, objects, pod

GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
FAILING = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for name in ("not-ready", "unreachable")
]


def _spec(tree: ObjectSet, *containers: Any, **spec: Any) -> dict[str, Any]:
    result: dict[str, Any] = mutated(tree, pod(*containers, **spec)).document["spec"]
    return result


def test_the_request_is_not_changed_itself() -> None:
    request = pod(container(**GPU))
    mutated(objects(), request)
    assert request.document["spec"] == {"containers": [container(**GPU)]}


def test_other_kinds_are_not_changed() -> None:
    request = pod()
    request.document["kind"] = "Job"
    assert mutated(objects(), request) is request


def test_devices_are_tolerated() -> None:
    expected = [*FAILING, {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert _spec(objects(), container(**GPU))["tolerations"] == expected
    assert _spec(objects(), container(**GPU), tolerations=expected)["tolerations"] == expected


def test_a_toleration_of_all_taints_stays_the_only_one() -> None:
    every = [{"operator": "Exists"}]
    assert _spec(objects(), tolerations=every)["tolerations"] == every


def test_the_priority_comes_from_the_priority_class() -> None:
    high = manifest("scheduling.k8s.io/v1", "PriorityClass", "high", {"value": 1000, "preemptionPolicy": "Never"})
    low = manifest("scheduling.k8s.io/v1", "PriorityClass", "low", {"value": 5, "globalDefault": True})
    fields = "priorityClassName", "priority", "preemptionPolicy"
    assert [_spec(objects(high), priorityClassName="high").get(name) for name in fields] == ["high", 1000, "Never"]
    assert [_spec(objects(high, low)).get(name) for name in fields] == ["low", 5, "PreemptLowerPriority"]
    assert [_spec(objects()).get(name) for name in fields] == [None, 0, "PreemptLowerPriority"]
    assert _spec(objects(), priorityClassName="system-node-critical")["priority"] == 2000001000


def test_the_limit_range_names_its_defaults_in_an_annotation() -> None:
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1", "memory": "1Gi"}}]
    tree = objects(manifest("v1", "LimitRange", "defaults", {"spec": {"limits": limits}}))
    own = container(resources={"limits": {"memory": "4Gi"}})
    request = mutated(tree, pod(own, initContainers=[container(name="init", resources={"requests": {"cpu": "1"}})]))
    assert request.document["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container main; "
        "cpu limit for container main; memory request for init container init; cpu limit for init container init"
    }
    complete = container(resources={side: {"cpu": "1", "memory": "1Gi"} for side in ("limits", "requests")})
    assert mutated(tree, pod(complete)).document["metadata"]["annotations"] == {}


def test_the_runtime_class_adds_overhead_and_scheduling() -> None:
    scheduling = {"nodeSelector": {"tier": "a"}, "tolerations": [{"key": "tier", "operator": "Exists"}]}
    body = {"overhead": {"podFixed": {"cpu": "1"}}, "scheduling": scheduling}
    tree = objects(manifest("node.k8s.io/v1", "RuntimeClass", "heavy", body))
    spec = _spec(tree, runtimeClassName="heavy", nodeSelector={"zone": "b"})
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "1"}, {"zone": "b", "tier": "a"})
    assert spec["tolerations"] == [*FAILING, {"key": "tier", "operator": "Exists"}]


def test_the_service_account_adds_its_secrets_and_token() -> None:
    account = manifest("v1", "ServiceAccount", "builder", {"imagePullSecrets": [{"name": "registry"}]})
    spec = _spec(objects(account), serviceAccountName="builder")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert [list(volume) for volume in spec["volumes"]] == [["name", "projected"]]
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    without = _spec(objects(account), automountServiceAccountToken=False)
    assert (without["serviceAccountName"], without.get("volumes")) == ("default", None)


def test_the_requests_of_a_pod_are_those_of_its_containers_or_its_limits() -> None:
    tree = objects()
    asked = container(resources={"requests": {"cpu": "1"}})
    spec = _spec(tree, asked, asked, resources={"limits": {"cpu": "4", "memory": "8Gi"}})
    assert spec["resources"]["requests"] == {"cpu": "2", "memory": "8Gi"}


def test_merged_tolerations_have_no_superfluous_ones() -> None:
    narrow = {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    wide = {"key": "a", "operator": "Exists"}
    short = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    assert merge([narrow], [wide]) == [wide]
    assert merge([wide, short], [wide]) == [wide]
    assert merge([short], [{**short, "tolerationSeconds": 9}]) == [{**short, "tolerationSeconds": 9}]
    assert merge([narrow], [{"key": "c", "operator": "Exists"}]) == [narrow, {"key": "c", "operator": "Exists"}]
