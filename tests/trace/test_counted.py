"""Traces of pods outside of Kueue: counted by a ResourceQuota, counted by nothing, or gated by Kueue (C4)."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import ClusterIndex, TraceResult, trace_workload, workload_of
from gpuc.trace.report import _conclusion
from tests.conftest import compiled_example

CONFIGURATION = "controllerManagerConfigYaml"
QUEUE = "kueue.x-k8s.io/queue-name"


def index(name: str, *, policies: bool = True, frameworks: str = "", manage: str = "true") -> ClusterIndex:
    """The cluster of an example, perhaps without policies, and with other frameworks of Kueue."""
    spec = compiled_example(name)
    # The roles of the example permit only the kinds that its own Kueue manages.
    left_out = ("RoleBinding",) if frameworks else ()
    objects = [
        manifest
        for manifest in spec.synced
        if (policies or not manifest.kind.startswith("Gpuc")) and manifest.kind not in left_out
    ]
    charts: dict[str, Any] = dict(spec.charts)
    if frameworks:
        text = (
            "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
            f"manageJobsWithoutQueueName: {manage}\n"
            "managedJobsNamespaceSelector: {matchExpressions: [{key: gpuc.dev/tenant, operator: Exists}]}\n"
            f"integrations: {{frameworks: [{frameworks}]}}\n"
        )
        charts["kueue"] = {"managerConfig": {CONFIGURATION: text}}
    return ClusterIndex(ObjectSet(objects, is_complete=True, values=charts))


def pod(resources: dict[str, Any], pool: str = "", taints: tuple[str, ...] = ()) -> dict[str, Any]:
    limits = {"cpu": "1", "memory": "1Gi", **resources}
    tolerations = [
        {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}
        for key, _, value in (taint.partition("=") for taint in taints)
    ]
    return {
        "containers": [
            {"name": "a", "image": "registry.example.com/b:1", "resources": {"limits": limits, "requests": limits}}
        ],
        **({"nodeSelector": {"gpuc.dev/pool": pool}} if pool else {}),
        "tolerations": tolerations,
    }


def trace(
    cluster: ClusterIndex, kind: str, spec: dict[str, Any], namespace: str, queue: str = "", api: str = "v1"
) -> TraceResult:
    labels = {QUEUE: queue} if queue else {}
    workload = workload_of(Manifest("a.yaml", (), api, kind, "a", {"spec": spec}, namespace, labels))
    assert workload is not None
    return trace_workload(cluster, workload)


def deployment(template: dict[str, Any], replicas: int = 1) -> dict[str, Any]:
    labels = {"app": "a"}
    pods = {"metadata": {"labels": labels}, "spec": template}
    return {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods}


SLICE = pod({"nvidia.com/mig-3g.40gb": 1}, "serve-a100", ("nvidia.com/gpu=present", "gpuc.dev/mode=mig"))
WHOLE = pod({"nvidia.com/gpu": 8}, "train-h100", ("gpuc.dev/mode=exclusive",))


def test_a_pod_of_a_pool_outside_of_kueue_is_counted_by_the_resource_quota() -> None:
    found = trace(index("prod-use1"), "Deployment", deployment(SLICE, 32), "search-serving", api="apps/v1")
    assert found.verdict == "admitted"
    quota = "ResourceQuota gpuc of namespace search-serving, hard 32 nvidia.com/mig-3g.40gb"
    assert found.counted_by == quota
    assert f"counted by {quota}" in [step.message for step in found.steps]
    assert _conclusion(found).endswith(f"it is counted by {quota}.")


def test_replicas_beyond_the_resource_quota_are_refused() -> None:
    found = trace(index("prod-use1"), "Deployment", deployment(SLICE, 33), "search-serving", api="apps/v1")
    assert found.failure is not None
    assert "the quota of the namespace is 32, which is enough for 32 of 33" in found.failure.message
    assert (found.by, found.failure.fix) == ("quota", "create at most 32 at the same time")


def test_a_pod_without_quota_is_refused_by_policy_gpu_quota() -> None:
    found = trace(index("prod-use1"), "Pod", WHOLE, "research-train")
    assert found.failure is not None and found.failure.manifest is not None
    assert (found.by, found.failure.manifest.name) == ("policy", "gpu-quota-research")
    labelled = trace(index("prod-use1"), "Pod", WHOLE, "research-train", "research")
    assert labelled.by == "policy", "Kueue ignores the label of a kind that it does not manage"


def test_a_pod_on_a_pool_of_kueue_is_not_counted() -> None:
    found = trace(index("prod-use1", policies=False), "Pod", WHOLE, "research-train")
    assert (found.verdict, found.counted_by) == ("admitted", "")
    assert _conclusion(found).endswith("Kueue does not manage this workload, so it uses no quota.")


def test_without_management_of_all_jobs_kueue_ignores_pods_without_a_queue() -> None:
    cluster = index("infer-euw1", policies=False, frameworks="batch/job, pod, deployment", manage="false")
    found = trace(cluster, "Pod", pod({}, "web", ("gpuc.dev/pool=web",)), "assistants-lab")
    assert found.verdict == "admitted"
    assert "manageJobsWithoutQueueName is not true" in found.bypass


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "RayCluster"])
def test_the_pod_integration_gates_every_pod_without_a_queue(kind: str) -> None:
    """workloads.md, A.6.3: Kueue never admits such pods, but trace predicted that the pods get nodes."""
    cluster = index("infer-euw1", policies=False, frameworks="batch/job, leaderworkerset.x-k8s.io/leaderworkerset")
    specs = {"Pod": pod({}), "Deployment": deployment(pod({}))}
    specs["RayCluster"] = {"headGroupSpec": {"template": {"spec": pod({})}}}
    apis = {"Pod": "v1", "Deployment": "apps/v1", "RayCluster": "ray.io/v1"}
    found = trace(cluster, kind, specs[kind], "assistants-lab", api=apis[kind])
    assert found.failure is not None
    assert (found.by, found.failure.stage.value) == ("Kueue", "local queue")
    assert "manageJobsWithoutQueueName: true make Kueue gate every pod" in found.failure.message
    framework = {"Pod": "pod", "Deployment": "deployment", "RayCluster": "ray.io/raycluster"}[kind]
    assert found.failure.fix == f"add {framework} to kueue.frameworks of the spec, and set the label {QUEUE}"


def test_kueue_gates_a_plain_pod_with_a_queue_but_does_not_admit_it() -> None:
    cluster = index("infer-euw1", policies=False, frameworks="batch/job, deployment", manage="false")
    found = trace(cluster, "Pod", pod({}), "assistants-lab", "assistants-cpu")
    assert found.failure is not None and found.failure.fix == "add pod to kueue.frameworks of the spec"


def test_a_pytorchjob_is_traced_like_other_jobs() -> None:
    named = {**WHOLE, "containers": [{**container, "name": "pytorch"} for container in WHOLE["containers"]]}
    replicas = {"replicas": 1, "template": {"spec": named}}
    spec = {"pytorchReplicaSpecs": {"Master": replicas, "Worker": {**replicas, "replicas": 15}}}
    cluster = index("prod-use1", policies=False, frameworks="batch/job, kubeflow.org/pytorchjob")
    found = trace(cluster, "PyTorchJob", spec, "research-train", "research", "kubeflow.org/v1")
    assert (found.verdict, found.bypass) == ("admitted", "")
    assert {name: placement.flavors for name, placement in found.placements.items()} == {
        "master": ("train-h100",),
        "worker": ("train-h100",),
    }
    bare = trace(cluster, "PyTorchJob", spec, "research-train", "", "kubeflow.org/v1")
    assert bare.failure is not None and "Kueue suspends the workload forever" in bare.failure.message


def on_web(count: int, name: str = "gpuc-pool-web", *, policies: bool = True) -> TraceResult:
    """Traces a Deployment with one core for each pod, on the pool of the hub that ResourceQuotas count."""
    spec = pod({"memory": "128Mi"}, "web", ("gpuc.dev/pool=web",)) | ({"priorityClassName": name} if name else {})
    spec["automountServiceAccountToken"] = False
    security = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    spec["securityContext"] = security
    container = spec["containers"][0]
    container |= {"image": "registry.vega.example/web:1"}
    container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    cluster = index("vega-prod", policies=policies)
    return trace(cluster, "Deployment", deployment(spec, count), "api-serving", api="apps/v1")


def test_a_resource_quota_counts_pods_on_a_pool_without_gpus_by_their_priority_class() -> None:
    found = on_web(21)
    assert (found.verdict, found.counted_by) == (
        "admitted",
        "ResourceQuota gpuc-pool-web of namespace api-serving, hard 21 cpu",
    )
    beyond = on_web(22)
    assert beyond.failure is not None and beyond.failure.manifest is not None
    assert (beyond.by, beyond.failure.manifest.name) == ("quota", "gpuc-pool-web")


def test_pods_without_the_priority_class_of_their_pool_are_not_counted() -> None:
    found = on_web(1, "")
    assert found.failure is not None
    assert "web with priorityClassName gpuc-pool-web" in found.failure.message
    assert (on_web(1, "", policies=False).verdict, on_web(1, "", policies=False).counted_by) == ("admitted", "")
