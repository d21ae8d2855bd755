"""GPU gate: its permissions, and the order of its commands on each kind of node."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.components.gpu_operator.gpu_gate import REPORT, gpu_gate
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.user_data import user_data
from tests.conftest import EXAMPLES, example

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]


def pods_of(cluster: Cluster) -> dict[str, Body]:
    """Returns the pod templates of the DaemonSets by the suffix of their names."""
    return {
        manifest.name.removeprefix("gpuc-gpu-gate-"): manifest.body["spec"]["template"]["spec"]
        for manifest in gpu_gate(cluster)
        if manifest.kind == "DaemonSet"
    }


def steps(pod: Body) -> list[str]:
    return [container["name"] for container in pod["initContainers"]]


def words(pod: Body) -> list[str]:
    return [word for container in pod["initContainers"] for word in container["args"]]


def test_the_account_of_the_gate_may_read_and_patch_nodes_and_nothing_else() -> None:
    objects = {manifest.kind: manifest for manifest in gpu_gate(example("infer-euw1"))}
    assert objects["ClusterRole"].body["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["get", "patch"]},
    ]
    account = objects["ServiceAccount"]
    (subject,) = objects["ClusterRoleBinding"].body["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}
    assert objects["ClusterRoleBinding"].body["roleRef"]["name"] == objects["ClusterRole"].name
    assert objects["DaemonSet"].body["spec"]["template"]["spec"]["serviceAccountName"] == account.name


def test_the_account_of_the_gate_changes_only_its_own_node() -> None:
    objects = {manifest.kind: manifest for manifest in gpu_gate(example("prod-use1"))}
    policy = objects["ValidatingAdmissionPolicy"].body["spec"]
    (condition,) = policy["matchConditions"]
    assert condition["expression"] == "request.userInfo.username == 'system:serviceaccount:gpu-operator:gpuc-gpu-gate'"
    (rule,) = policy["matchConstraints"]["resourceRules"]
    assert (rule["operations"], rule["resources"]) == (["UPDATE"], ["nodes", "nodes/status"])
    assert "authentication.kubernetes.io/node-name" in policy["validations"][0]["expression"]
    binding = objects["ValidatingAdmissionPolicyBinding"].body["spec"]
    assert binding == {"policyName": objects["ValidatingAdmissionPolicy"].name, "validationActions": ["Deny"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_s3_every_gpu_pool_has_a_gate_that_waits_for_all_devices(name: str) -> None:
    cluster = example(name)
    pods = pods_of(cluster)
    assert set(pods) == {pool.name for pool in cluster.gpu_pools}
    for pool in cluster.gpu_pools:
        names = steps(pods[pool.name])
        assert (*names[:2], names[-1]) == ("wait-for-karpenter", "hold", "release")
        for resource, count in pool.advertised(pool.instances[0]).items():
            if "/" in resource:
                path = resource.replace(".", r"\.")
                assert f"--for=jsonpath={{.status.allocatable.{path}}}={count}" in words(pods[pool.name])


def test_s1_operands_start_after_user_data_has_cut_the_gpus() -> None:
    assert steps(pods_of(example("prod-use1"))["serve-a100"]) == [
        "wait-for-karpenter", "hold", "report", "wait-for-gpus", "start-operands",
        "wait-for-mig-1g-10gb", "wait-for-mig-2g-20gb", "wait-for-mig-3g-40gb", "release",
    ]  # fmt: skip
    assert "nvidia.com/gpu.deploy.operands-" in words(pods_of(example("prod-use1"))["serve-a100"])


def test_s3_the_gate_reads_the_report_of_user_data_and_waits_until_it_exists() -> None:
    cluster = example("prod-use1")
    for pool in cluster.gpu_pools:
        pod = pods_of(cluster)[pool.name]
        assert pod["volumes"] == [{"name": "report", "hostPath": {"path": REPORT, "type": "File"}}]
        (mount,) = (container["volumeMounts"] for container in pod["initContainers"] if "volumeMounts" in container)
        assert mount == [{"name": "report", "mountPath": REPORT, "readOnly": True}]
        assert f"--patch-file={REPORT}" in words(pod) and "--for=condition=GpucGpusReady" in words(pod)
        # The directory of the unit and the file of the script are the path that the gate reads.
        text = user_data(cluster, pool)
        assert "RuntimeDirectory=gpuc" in text and "report=$RUNTIME_DIRECTORY/node-status.json" in text
    assert REPORT == "/run/gpuc/node-status.json"


def test_nodes_without_a_report_wait_for_their_resources_only() -> None:
    pods = pods_of(example("infer-euw1"))
    assert steps(pods["notebooks-l4"]) == ["wait-for-karpenter", "hold", "wait-for-gpu-shared", "release"]
    assert steps(pods["models-a100"])[1:3] == ["hold", "wait-for-layout"]
    assert all("volumes" not in pod for pod in pods.values())


def test_instance_types_with_different_resources_have_different_gates(variant: Variant) -> None:
    def mixed(spec: dict[str, Any]) -> None:
        spec["pools"]["dev-l4"]["instances"] = ["g6.12xlarge", "g6.48xlarge"]

    pods = pods_of(variant(mixed))
    counts = {}
    for suffix in ("dev-l4-g6-12xlarge", "dev-l4-g6-48xlarge"):
        terms = pods[suffix]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (selector,) = terms["nodeSelectorTerms"][0]["matchExpressions"]
        (wait,) = (word for word in words(pods[suffix]) if "allocatable" in word)
        counts[tuple(selector["values"])] = wait.rpartition("=")[2]
    assert counts == {("g6.12xlarge",): "16", ("g6.48xlarge",): "32"}


def test_s3_a_node_that_is_not_ready_does_not_block_argo_cd() -> None:
    for manifest in gpu_gate(example("prod-use1")):
        if manifest.kind == "DaemonSet":
            assert manifest.body["spec"]["updateStrategy"] == {"type": "OnDelete"}
