"""Pods of every kind of workload with EFA: their interfaces and their shared memory, in a trace and in lint."""

from functools import cache
from typing import Any

import pytest

from gpuc.lint.checks.scheduling.gangs import findings as of_gangs
from gpuc.lint.checks.scheduling.refused_workloads import findings as of_refusals
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet
from gpuc.trace import Workload, trace_workload, workload_of
from gpuc.trace.gangs import gang_steps
from gpuc.trace.report import _conclusion
from gpuc.trace.steps import Placement, TraceResult
from gpuc.trace.workload import PodSet
from tests.trace.test_counted import index
from tests.trace.test_train_jobs import train_job

SHARED = {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}
NO_INTERFACE = "the pods request none of the 32 EFA interfaces that belong to their 8 GPUs"
FEW = "the pods request 8 of the 32 EFA interfaces that belong to their 8 GPUs"
NO_MEMORY = "container node has no volume in memory at /dev/shm"


def pods(efa: int = 32, gpus: int = 8, mount: str = "/dev/shm", **spec: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": gpus, **({"vpc.amazonaws.com/efa": efa} if efa else {})}
    mounts = [{"name": "shm", "mountPath": mount}]
    container = {"name": "node", "image": "a", "resources": {"limits": limits}, "volumeMounts": mounts}
    return {"spec": {"containers": [container], **SHARED, "nodeSelector": {"gpuc.dev/pool": "train-h100"}, **spec}}


def body(kind: str, template: dict[str, Any]) -> dict[str, Any]:
    """Returns an object with two pods of a template."""
    job = {"parallelism": 2, "completions": 2, "backoffLimitPerIndex": 0, "template": template}
    worker = {"replicas": 2, "template": template}
    group = {"groupName": "workers", "rayStartParams": {}, **worker}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "head", "image": "a"}]}}}
    specs: dict[str, tuple[str, dict[str, Any]]] = {
        "Job": ("batch/v1", job),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", {"replicatedJobs": [{"name": "node", "template": {"spec": job}}]}),
        "LeaderWorkerSet": (
            "leaderworkerset.x-k8s.io/v1",
            {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
        ),
        "PyTorchJob": ("kubeflow.org/v1", {"pytorchReplicaSpecs": {"Worker": worker}}),
        "MPIJob": ("kubeflow.org/v2beta1", {"mpiReplicaSpecs": {"Worker": worker}}),
        "RayJob": ("ray.io/v1", {"rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": [group]}}),
        "RayCluster": ("ray.io/v1", {"headGroupSpec": head, "workerGroupSpecs": [group]}),
    }
    api, spec = specs[kind]
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "research-train"}, "spec": spec}


def warned(document: dict[str, Any]) -> list[str]:
    """Returns the messages of the warnings in a trace, if the pods get nodes of the pool train-h100."""
    workload = workload_of(manifest_of(document))
    assert workload is not None
    placed = Placement(pools=("train-h100",), instance_types=("p5.48xlarge",))
    result = TraceResult(placements={row.name: placed for row in workload.pod_sets})
    steps = list(gang_steps(index("prod-use1", policies=False), workload, result))
    assert {step.verdict for step in steps} <= {"warned"}
    return [step.message for step in steps]


@cache
def nodes() -> tuple[Manifest, ...]:
    """Returns the objects of prod-use1 that describe nodes, namespaces and training runtimes."""
    kinds = {"NodePool", "EC2NodeClass", "NodeOverlay", "Namespace", "TrainingRuntime"}
    return tuple(row for row in index("prod-use1", policies=False).objects.manifests if row.kind in kinds)


def linted(*documents: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Returns the kind of the object, the rule and the message of findings about objects beside those of prod-use1."""
    objects = ObjectSet([*nodes(), *map(manifest_of, documents)], is_complete=False)
    found = [finding for check in (of_gangs, of_refusals) for finding in check(objects)]
    return [(row.manifest.kind, row.rule.id, row.message) for row in found]


KINDS = ("Job", "JobSet", "LeaderWorkerSet", "PyTorchJob", "MPIJob", "RayJob", "RayCluster")


@pytest.mark.parametrize("kind", KINDS)
def test_pods_of_every_kind_request_the_interfaces_of_their_gpus(kind: str) -> None:
    for template in (pods(), pods(efa=16, gpus=4)):
        assert warned(body(kind, template)) == []
    assert warned(body(kind, pods(efa=8))) == [FEW]
    assert [row for row in linted(body(kind, pods(efa=8))) if row[1] == "TRN208"] == [(kind, "TRN208", FEW)]


@pytest.mark.parametrize("kind", KINDS)
def test_pods_without_interfaces_are_a_gang_if_they_have_dns_names(kind: str) -> None:
    assert warned(body(kind, pods(efa=0))) == ([] if kind == "Job" else [NO_INTERFACE])
    assert warned(body(kind, pods(efa=0, subdomain="a"))) == [NO_INTERFACE]


@pytest.mark.parametrize("kind", KINDS)
def test_gangs_have_shared_memory_unless_the_controller_adds_it(kind: str) -> None:
    expected = [] if kind.startswith("Ray") else [NO_MEMORY]
    assert warned(body(kind, pods(mount="/data"))) == expected
    assert [row[1] for row in linted(body(kind, pods(mount="/data")))] == ["TRN209"] * len(expected)


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        (pods(mount="/dev/shm/"), []),
        (pods(mount="/dev"), []),
        (pods(mount="/data", hostIPC=True), []),
        (pods(efa=4, gpus=1, mount="/data"), []),
        (pods(volumes=[{"name": "shm", "emptyDir": {}}]), [NO_MEMORY]),
        (pods(volumes=[{"name": "shm", "hostPath": {"path": "/dev/shm"}}]), []),
        (pods(volumes=7), []),
        (pods(volumes=[{"name": ["shm"], "emptyDir": {}}]), []),
        (pods(containers="a"), []),
    ],
)
def test_a_directory_on_the_disk_is_no_shared_memory(template: dict[str, Any], messages: list[str]) -> None:
    assert warned(body("JobSet", template)) == messages


def test_a_type_that_the_pods_select_shows_the_interfaces_without_a_node_pool() -> None:
    selected = {"node.kubernetes.io/instance-type": "p5en.48xlarge"}
    for efa, count in ((16, 0), (8, 1)):
        manifest = manifest_of(body("JobSet", pods(efa=efa, nodeSelector=selected)))
        assert [row.rule.id for row in of_gangs(ObjectSet([manifest], is_complete=False))] == ["TRN208"] * count
    either = pods(efa=8, nodeSelector={"node.kubernetes.io/instance-type": "p5.unknown"})
    assert not list(of_gangs(ObjectSet([manifest_of(body("JobSet", either))], is_complete=False)))


def test_a_train_job_can_lose_the_interfaces_of_its_runtime() -> None:
    document = train_job(trainer={"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}})
    assert linted(document) == [("TrainJob", "TRN208", NO_INTERFACE)]
    assert linted(train_job(trainer={"numNodes": 2})) == []
    cluster = index("prod-use1", policies=False)
    workload = workload_of(manifest_of(document), objects=cluster.objects)
    assert workload is not None
    result = trace_workload(cluster, workload)
    assert (result.verdict, result.steps[-1].verdict) == ("admitted", "warned")
    assert _conclusion(result).endswith(f" Warning: {NO_INTERFACE}.")


def test_pods_that_do_not_train_together_start_nevertheless() -> None:
    document = train_job()
    del document["spec"]["trainer"]
    cluster = index("prod-use1", policies=False)
    workload = workload_of(manifest_of(document), objects=cluster.objects)
    assert workload is not None
    sentence = "Result: the pods start, but do not train together: without spec.trainer, the pods get no PET_ variables"
    assert _conclusion(trace_workload(cluster, workload)).startswith(sentence)


def own_runtime(**spec: Any) -> dict[str, Any]:
    """Returns the runtime pretrain with another name, and with another spec."""
    (runtime,) = [row for row in nodes() if (row.kind, row.name) == ("TrainingRuntime", "pretrain")]
    document = runtime.document()
    own = {"metadata": {"name": "own", "namespace": "research-train"}}
    return {**document, **own, **({"spec": spec} if spec else {})}


def of_pods(template: dict[str, Any]) -> dict[str, Any]:
    """Returns the field `template` of a runtime with a pod template."""
    return {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]}}


def test_the_annotation_of_a_train_job_keeps_no_node_unless_its_pods_have_it() -> None:
    document = train_job(runtimeRef={"kind": "TrainingRuntime", "name": "own"})
    document["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    assert linted(document, own_runtime()) == []
    found = linted(document, own_runtime(template=of_pods(pods())))
    assert [row[:2] for row in found if row[1] == "TRN207"] == [("TrainJob", "TRN207")]


def test_a_runtime_may_not_lock_memory_in_a_namespace_with_the_level_baseline() -> None:
    locks = pods(restartPolicy="Never")
    locks["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    ((kind, rule, message),) = linted(own_runtime(template=of_pods(locks)))
    assert (kind, rule) == ("TrainingRuntime", "SCD010")
    assert "adds the capability IPC_LOCK" in message


def test_pods_that_options_describe_have_no_volumes_and_no_warning() -> None:
    described = Workload((PodSet({}),), "research-train", "research")
    assert list(gang_steps(index("prod-use1", policies=False), described, TraceResult())) == []
