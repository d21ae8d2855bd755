"""The pods that KubeRay makes of every kind, mode and selector, and what Kueue counts for them."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import Step, TraceResult, Workload, workload_of
from gpuc.trace.user_objects import why_not_traced
from gpuc.trace.workload import queued_pods
from tests.trace.test_nodes import G6_48, KUEUE, other, pool, result

TOLERATION = {"key": "example.com/gpu", "operator": "Exists"}


def template(**resources: str) -> dict[str, Any]:
    container = {"name": "ray", "image": "registry.example.com/ray:2.52.0", "resources": {"requests": resources}}
    return {"spec": {"containers": [container]}}


def cluster(**fields: Any) -> dict[str, Any]:
    workers = {"groupName": "gpu", "replicas": 2, "minReplicas": 1, "maxReplicas": 4, **fields.pop("workers", {})}
    head = {"rayStartParams": {}, "template": template(cpu="2", memory="8Gi")}
    group = {"rayStartParams": {}, "template": template(cpu="8", memory="64Gi"), **workers}
    return {"headGroupSpec": head, "workerGroupSpecs": [group], **fields}


def ray(kind: str, spec: dict[str, Any], **metadata: Any) -> Manifest:
    named = {"name": "sweep", "namespace": "default", **metadata}
    return manifest_of({"apiVersion": "ray.io/v1", "kind": kind, "metadata": named, "spec": spec})


def ray_job(cluster_spec: dict[str, Any] | None = None, **fields: Any) -> Manifest:
    own = {"rayClusterSpec": cluster() if cluster_spec is None else cluster_spec}
    return ray("RayJob", {"entrypoint": "run", "shutdownAfterJobFinishes": True, **own, **fields})


def workload(manifest: Manifest) -> Workload:
    found = workload_of(manifest)
    assert found is not None
    return found


def counts(manifest: Manifest) -> dict[str, int]:
    return {pods.name: pods.count for pods in workload(manifest).pod_sets}


def containers(manifest: Manifest, pod_set: str) -> list[str]:
    (pods,) = [pods for pods in workload(manifest).pod_sets if pods.name == pod_set]
    return [container["name"] for container in pods.pod["containers"]]


def traced(manifest: Manifest) -> TraceResult:
    return result(manifest, pool("all", G6_48))


def failure(manifest: Manifest) -> Step:
    found = traced(manifest).failure
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"head": 1, "gpu": 2, "submitter": 1}),
        ({"submissionMode": "K8sJobMode"}, {"head": 1, "gpu": 2, "submitter": 1}),
        ({"submissionMode": "HTTPMode"}, {"head": 1, "gpu": 2}),
        ({"submissionMode": "SidecarMode"}, {"head": 1, "gpu": 2}),
        ({"submissionMode": "InteractiveMode"}, {"head": 1, "gpu": 2}),
    ],
)
def test_the_pod_sets_of_every_mode(fields: dict[str, Any], expected: dict[str, int]) -> None:
    manifest = ray_job(**fields)
    assert counts(manifest) == expected
    assert not [step for step in traced(manifest).steps if step.failed]


def test_the_default_submitter_has_the_image_of_the_head() -> None:
    (pods,) = [pods for pods in workload(ray_job()).pod_sets if pods.name == "submitter"]
    (container,) = pods.pod["containers"]
    assert (container["name"], container["image"]) == ("ray-job-submitter", "registry.example.com/ray:2.52.0")
    assert pods.pod["restartPolicy"] == "Never"


def test_the_advice_for_a_pod_without_a_template_names_the_template() -> None:
    tolerant = {"rayStartParams": {}, "template": {"spec": {**template()["spec"], "tolerations": [TOLERATION]}}}
    spec = {"headGroupSpec": tolerant, "workerGroupSpecs": []}
    tainted = pool("gpu", G6_48, taints=[{"key": "example.com/gpu", "effect": "NoSchedule"}])
    found = result(ray_job(spec), tainted, is_complete=True).failure
    assert found is not None and found.pods == "submitter"
    assert found.fix.startswith("set spec.submitterPodTemplate, the template of this pod, and there: add to the tole")


@pytest.mark.parametrize(
    ("workers", "running", "queued"),
    [
        ({}, 2, 2),
        ({"replicas": None}, 1, 0),
        ({"replicas": 9}, 4, 9),
        ({"numOfHosts": 3}, 6, 6),
        ({"suspend": True}, 0, 2),
    ],
)
def test_kuberay_keeps_to_the_limits_of_a_group_and_kueue_counts_replicas(
    workers: dict[str, Any], running: int, queued: int
) -> None:
    manifest = ray("RayCluster", cluster(workers=workers))
    assert counts(manifest).get("gpu", 0) == running
    by_name = {pods.name: pods.count for pods in queued_pods(ObjectSet([], is_complete=False), workload(manifest))}
    assert by_name["gpu"] == queued


def test_the_head_has_the_containers_of_the_autoscaler_and_of_the_submitter() -> None:
    manifest = ray_job(cluster(enableInTreeAutoscaling=True), submissionMode="SidecarMode")
    assert containers(manifest, "head") == ["ray", "autoscaler", "ray-job-submitter"]
    assert traced(manifest).requests["head"]["cpu"] == 3000


def test_workers_wait_for_the_head_with_an_init_container_that_kueue_does_not_count() -> None:
    small = cluster(workers={"template": template(cpu="10m", memory="10Mi")})
    work = workload(ray("RayCluster", small))
    (_, workers) = work.pod_sets
    assert [container["name"] for container in workers.pod["initContainers"]] == ["wait-gcs-ready"]
    assert traced(ray("RayCluster", small)).requests["gpu"]["cpu"] == 200
    (_, queued) = queued_pods(ObjectSet([], is_complete=False), work)
    assert "initContainers" not in queued.pod


def test_kueue_counts_the_cleanup_of_redis_in_the_head() -> None:
    spec = cluster(gcsFaultToleranceOptions={"redisAddress": "redis:6379"})
    spec["headGroupSpec"]["template"] = template(cpu="100m", memory="1Gi")
    queued, _ = queued_pods(ObjectSet([], is_complete=False), workload(ray("RayCluster", spec)))
    assert queued.pod["containers"][0]["resources"]["requests"] == {"cpu": "200m", "memory": "1Gi"}


def test_a_rayjob_for_an_existing_cluster_has_no_cluster_of_its_own() -> None:
    chosen = {"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": None}
    assert workload_of(ray_job(**chosen)) is None
    assert "RayCluster shared" in why_not_traced(ray_job(**chosen))
    pod = {"spec": {**template(cpu="1")["spec"], "restartPolicy": "Never"}}
    submitting = ray_job(**chosen, submitterPodTemplate=pod)
    assert counts(submitting) == {"submitter": 1}
    assert "Kueue does not manage the RayJob" in traced(submitting).bypass


def test_a_rayservice_is_traced_with_its_cluster() -> None:
    manifest = ray("RayService", {"serveConfigV2": "", "rayClusterConfig": cluster()})
    assert counts(manifest) == {"head": 1, "gpu": 2}
    wrong = ray("RayService", {"rayClusterConfig": cluster(workers={"minReplicas": 5})})
    assert failure(wrong).field == ("spec", "rayClusterConfig", "workerGroupSpecs", 0, "minReplicas")


def test_kuberay_starts_no_pods_for_an_object_that_its_controller_refuses() -> None:
    found = failure(ray_job(submissionMode="InteractiveMode", backoffLimit=2))
    assert (found.stage.value, found.field) == ("suspend", ("spec", "backoffLimit"))
    assert found.message.startswith("controller of KubeRay: ")


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ({9400: "http"}, "no port has the name dashboard"),
        ({8080: "http", 8265: "dashboard"}, "has port 8080 twice"),
        ({8080: "metrics", 8265: "dashboard"}, ""),
        ({}, ""),
    ],
)
def test_the_service_of_the_head_has_the_ports_of_its_first_container(ports: dict[int, str], message: str) -> None:
    spec = cluster()
    (container,) = spec["headGroupSpec"]["template"]["spec"]["containers"]
    container["ports"] = [{"containerPort": port, "name": name} for port, name in ports.items()]
    found = "; ".join(step.message for step in traced(ray_job(spec)).steps if step.failed)
    assert message in found
    assert ("port" in found) == bool(message)


def test_kueue_takes_the_requests_of_a_limit_range_before_the_limits_of_a_container() -> None:
    spec = cluster()
    small = {"name": "ray", "image": "registry.example.com/ray:2.52.0", "resources": {"limits": {"cpu": "50m"}}}
    spec["headGroupSpec"]["template"] = {"spec": {"containers": [small]}}
    row = {"type": "Container", "defaultRequest": {"cpu": "100m"}}
    objects = [
        *KUEUE,
        other("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "h100", {"spec": {}}),
        other("v1", "LimitRange", "defaults", {"spec": {"limits": [row]}}, "default"),
        pool("all", G6_48),
    ]
    found = result(ray("RayCluster", spec, labels={"kueue.x-k8s.io/queue-name": "main"}), *objects).failure
    assert found is not None
    assert found.message == "Kueue counts requests of cpu above the limits of container ray"
    assert found.field == ("spec", "headGroupSpec", "template", "spec", "containers", 0, "resources")
