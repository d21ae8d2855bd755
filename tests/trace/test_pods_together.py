"""Pods that get nodes one by one, but not together: spread, affinity and slices; and rules of any form."""

from collections.abc import Iterator
from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import ClusterIndex, trace_workload, workload_of
from gpuc.trace.slices import Slices, slices_of
from gpuc.trace.workload import PodSet
from tests.trace.test_nodes import (
    G6_48,
    HOST,
    LABELS,
    TWO,
    ZONE,
    ZONES,
    anti,
    even,
    job,
    jobset,
    near,
    need,
    other,
    pod,
    pool,
    result,
    step,
)
from tests.trace.test_ray import cluster, ray, ray_job
from tests.values import changed, paths

CAPACITY = "karpenter.sh/capacity-type"
RACK = "example.com/rack"
A, B, C = ("us-east-1a",), ("us-east-1b",), ("us-east-1c",)
BROKEN: tuple[Any, ...] = (None, "", "text", 7, -1, True, [], {}, [[]], [None], {"a": []}, [{"key": 5}], 2**70)
SELECTED = {"nodeSelector": {"example.com/pool": "gpu"}}


def of(name: str, *zones: str, limit: str = "", **more: Any) -> Manifest:
    limits = {"limits": {"nodes": limit}} if limit else {}
    return pool(name, G6_48, need(ZONE, "In", *zones), labels={"example.com/pool": name}, **limits, **more)


def deployment(spec: dict[str, Any], replicas: int) -> Manifest:
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return other("apps/v1", "Deployment", "web", {"spec": body}, "default")


@pytest.mark.parametrize(
    ("rules", "count", "pools", "verdict"),
    [
        (even(ZONE, minDomains=3), 3, [of("gpu", *A, *B)], "failed"),
        (even(ZONE, minDomains=3), 2, [of("gpu", *A, *B)], "passed"),
        (even(ZONE, minDomains=3, maxSkew=2), 4, [of("gpu", *A, *B)], "passed"),
        (even(ZONE, minDomains=2), 4, [of("gpu", *A, *B)], "passed"),
        (even(ZONE), 2, [of("gpu", *A), of("other", *B)], "passed"),
        (even(ZONE) | SELECTED, 1, [of("gpu", *A), of("other", *B)], "passed"),
        (even(ZONE) | SELECTED, 8, [of("gpu", *A), of("other", *B)], "unknown"),
        (even(ZONE) | SELECTED, 9, [of("gpu", *A), of("other", *B)], "failed"),
        (even(ZONE) | SELECTED, 9, [of("gpu", *A), pool("other", G6_48)], "unknown"),
        (even(ZONE), 16, [pool("gpu", G6_48), pool("other", G6_48)], "passed"),
        (even(ZONE, nodeTaintsPolicy="Honor") | SELECTED, 9,
         [of("gpu", *A), of("other", *B, taints=[{"key": "a", "effect": "NoSchedule"}])], "passed"),
        (even(ZONE), 32, [of("gpu", *A, limit="3"), of("other", *B, limit="1")], "unknown"),
        (even(ZONE), 16, [of("gpu", *A, limit="1"), of("other", *B, limit="1")], "passed"),
        (even(CAPACITY), 2, [pool("gpu", G6_48, need(CAPACITY, "In", "spot"))], "passed"),
        (even(RACK), 2, [of("gpu", *A)], "unknown"),
        (even("example.com/pool"), 6, [of("gpu", *A), of("other", *A)], "passed"),
        (even(HOST, minDomains=4), 3, [of("gpu", *A, limit="2")], "failed"),
        (even(HOST, minDomains=4), 3, [of("gpu", *A)], "passed"),
        (anti(ZONE) | {"nodeSelector": {ZONE: "us-east-1a"}}, 2, [of("gpu", *A, *B)], "failed"),
        (anti("example.com/pool"), 2, [of("gpu", *A)], "failed"),
        (anti("example.com/pool"), 2, [of("gpu", *A), of("other", *A)], "passed"),
        (near(ZONE), 9, [of("gpu", *A, limit="1"), of("other", *B, limit="1")], "failed"),
        (near(ZONE), 9, [of("gpu", *A, limit="1"), of("other", *A, limit="1")], "passed"),
        (near(HOST) | even(HOST), 1, [of("gpu", *A)], "passed"),
        ({"affinity": anti(ZONE)["affinity"] | near(HOST)["affinity"]}, 2, [of("gpu", *A, *B)], "failed"),
        (near(ZONE) | even(ZONE), 17, [of("gpu", *A, *B)], "failed"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_deployment", [True, False])
def test_pods_together(
    rules: dict[str, Any], count: int, pools: list[Manifest], verdict: str, is_deployment: bool
) -> None:
    work = deployment(pod(1, **rules), count) if is_deployment else job(pod(1, **rules), count)
    found = result(work, *pools)
    steps = [step.verdict for step in found.steps if step.stage.value == "node"]
    assert verdict in (steps[0], "unknown") if verdict == "failed" else steps[0] == verdict, found.steps[-1].message
    assert verdict == "unknown" or (found.failure is None) == (verdict == "passed")


def test_the_cause_names_the_field_and_the_number_of_pods() -> None:
    found = result(deployment(pod(1, **even(ZONE, minDomains=3)), 3), of("gpu", *A, *B)).failure
    assert found is not None
    assert found.message == (
        f"topologySpreadConstraints over {ZONE} allows at most 2 of 3 pods: minDomains is 3, and the nodes have 2 "
        "values, with at most 1 pod each"
    )
    assert found.field == ("spec", "template", "spec", "topologySpreadConstraints", 0)
    assert found.fix == "set minDomains to 2"


def test_a_rule_with_mismatched_labels_is_not_about_the_pods_themselves() -> None:
    rules = anti(HOST)
    rules["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0] |= {
        "mismatchLabelKeys": ["app"]
    }
    assert step(job(pod(1, **rules), 3), pool("gpu", G6_48, ZONES, **TWO)).verdict == "passed"


def slices(level: str, size: Any, count: int, required: str = "") -> str:
    notes = {"kueue.x-k8s.io/podset-slice-required-topology": level, "kueue.x-k8s.io/podset-slice-size": size}
    notes |= {"kueue.x-k8s.io/podset-required-topology": required} if required else {}
    pods = PodSet({}, count, annotations=notes)
    return slices_of(pods).problem(pods, ("zone", "block", "host"))


@pytest.mark.parametrize(("workers", "head", "verdict"), [(4, 1, "unknown"), (3, 1, "passed"), (3, 3, "unknown")])
def test_other_pods_of_the_workload_on_the_node_that_all_pods_need(workers: int, head: int, verdict: str) -> None:
    work = jobset(("head", 1, pod(head)), ("workers", workers, pod(2) | near(HOST)))
    assert step(work, of("gpu", *A)).verdict == verdict


def test_slices_of_a_topology() -> None:
    assert slices("block", "2", 4) == ""
    assert slices("block", "2", 5) == ""
    odd = PodSet(
        {}, 5, annotations={f"kueue.x-k8s.io/podset-slice-{name}": "2" for name in ("required-topology", "size")}
    )
    assert slices_of(odd).unknown(odd).startswith("slices of 2 pods hold 4 of 5 pods")
    assert slices("rack", "2", 4) == "no requested topology level for slices: rack"
    assert slices("zone", "2", 4, "host") == "podset slice topology zone is above the podset topology host"
    assert slices_of(PodSet({}, annotations={"kueue.x-k8s.io/podset-slice-size": "x"})) == Slices("", 1)


def test_the_daemonsets_that_use_a_node_are_named() -> None:
    agent = other("apps/v1", "DaemonSet", "agent", {"spec": {"template": {"spec": {
        **pod(cpu="190"), "tolerations": [{"operator": "Exists"}]}}}}, "monitoring")  # fmt: skip
    found = step(job(pod(1, cpu="8")), pool("gpu", G6_48), agent)
    assert "without DaemonSet monitoring/agent, the pod fits" in found.message
    assert found.fix.endswith("or reduce the requests of DaemonSet monitoring/agent")


def test_nobody_is_told_to_request_no_cpu() -> None:
    agent = other("apps/v1", "DaemonSet", "agent", {"spec": {"template": {"spec": {
        **pod(cpu="300"), "tolerations": [{"operator": "Exists"}]}}}}, "monitoring")  # fmt: skip
    found = step(job(pod(1, cpu="8")), pool("gpu", G6_48), agent)
    assert found.fix == "reduce the requests of DaemonSet monitoring/agent"


def test_a_node_whose_pods_are_all_of_daemonsets() -> None:
    kubelet = other("karpenter.k8s.aws/v1", "EC2NodeClass", "default", {"spec": {"kubelet": {"maxPods": 1}}})
    agent = other("apps/v1", "DaemonSet", "agent", {"spec": {"template": {"spec": {
        **pod(cpu="100m"), "tolerations": [{"operator": "Exists"}]}}}}, "monitoring")  # fmt: skip
    found = step(job(pod(1)), pool("gpu", G6_48), agent, kubelet)
    assert found.message.startswith("maxPods of EC2NodeClass default allows 1 pod")
    assert (found.fix, found.path) == (
        "raise maxPods, or run fewer DaemonSets on the nodes", ("spec", "kubelet", "maxPods"),
    )  # fmt: skip


def test_a_volume_that_no_node_reaches_is_named() -> None:
    term = {"matchExpressions": [need(ZONE, "In", *C)]}
    volume = {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}
    objects = [
        of("gpu", *A),
        other("v1", "PersistentVolumeClaim", "data", {"spec": {"volumeName": "pv-1"}}, "default"),
        other("v1", "PersistentVolume", "pv-1", volume),
    ]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    found = result(job(pod(1, volumes=volumes)), *objects).failure
    assert found is not None and found.message.startswith("PersistentVolume pv-1 decides where the pods run: ")
    assert found.fix == "use a volume that nodes of the pool reach"


def objects() -> Iterator[dict[str, Any]]:
    """Yields workloads with all that the readers of Ray and of rules between pods read."""
    rules = anti(ZONE) | even(ZONE, minDomains=2, nodeTaintsPolicy="Honor")
    rules["affinity"] |= near(HOST)["affinity"]
    notes = {"kueue.x-k8s.io/podset-slice-required-topology": ZONE, "kueue.x-k8s.io/podset-slice-size": "2"}
    plain = job(pod(1, **rules), 4).document()
    plain["spec"]["template"]["metadata"]["annotations"] = notes
    yield plain
    options = {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}}}
    whole = cluster(**options, gcsFaultToleranceOptions={"redisAddress": "redis"})
    whole["workerGroupSpecs"][0] |= {"numOfHosts": 2, "suspend": False}
    yield ray_job(whole, submissionMode="SidecarMode").document()
    yield ray_job(submitterPodTemplate={"spec": pod(1)}, clusterSelector={"ray.io/cluster": "a"}).document()
    yield ray("RayService", {"rayClusterConfig": whole}).document()


@pytest.mark.share(4)
@pytest.mark.parametrize("number", range(len(list(objects()))))
def test_values_of_any_form_at_any_place_are_a_finding_or_nothing(number: int) -> None:
    document = list(objects())[number]
    known = ClusterIndex(ObjectSet([of("gpu", *A, *B), of("other", *C, limit="1")], is_complete=False))
    for path in paths(document["spec"], ("spec",)):
        for value in BROKEN:
            workload = workload_of(manifest_of(changed(document, path, value)))
            found = trace_workload(known, workload) if workload else None
            assert found is None or found.verdict in ("admitted", "refused", "pending", "not judged"), (path, value)
