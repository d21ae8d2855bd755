"""What a control plane does with a workload: it refuses the workload, keeps it waiting, or gives all pods a node."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gpuc_rehearsal.client import Object, condition
from gpuc_rehearsal.outcome import refusing_component
from tests.conformance.watched_objects import Kind, WatchedObjects

POD, NODE, EVENT, JOB = ("v1", "Pod"), ("v1", "Node"), ("v1", "Event"), ("batch/v1", "Job")
WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
KINDS: tuple[Kind, ...] = (POD, NODE, EVENT, JOB, WORKLOAD, ("apps/v1", "ReplicaSet"), ("apps/v1", "Deployment"),
                           ("apps/v1", "StatefulSet"), ("batch/v1", "CronJob"))  # fmt: skip
"""The kinds that decide the answer. JobSets and Ray objects are added if the control plane serves them."""
JOB_CONTROLLER = "kubernetes.io/job-controller"
"""The value of spec.managedBy for Kubernetes' Job controller."""
KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
_KARPENTER_MESSAGE = "Failed to schedule pod"
_SCHEDULER = "; the scheduler: "
_NOT_YET = "unsatisfiable topology constraint"
"""Part of a message of Karpenter about pods for which it can start nodes when the nodes of other pods are ready.

Events have only the first message about a pod: whether a later decision is the same, the log of Karpenter tells."""
_FINAL_SCHEDULING = ("persistentvolumeclaim", "didn't find available persistent volumes")
"""Parts of messages of the scheduler about which Karpenter reports nothing."""
_CONFLICT = ("the object has been modified", "please apply your changes to the latest version", "already exists",
             "timed out", "context deadline exceeded", "status unknown for quota")  # fmt: skip
"""Parts of messages about requests that the controller repeats with success."""
_FAILURES = ("FailedCreate", "FailedToCreate", "InvalidRay")
"""The starts of the reasons of events about objects that controllers, and those of KubeRay, could not create."""
_UNKNOWN_OWNER = re.compile(r'"mpod\.kb\.io" denied the request: \S+ "[^"]*" not found')
"""The message of Kueue's webhook about a pod with an owner that Kueue does not know yet. The controller repeats it."""
_CONTENDED = ("unused quota", "preempt")
"""Parts of messages that other workloads can cause."""
_CONTENDED_NODES = ("exceed limits for nodepool", "Insufficient ", "allows to fit only", "doesn't allow to fit",
                    "excluded:", "no topology domains")  # fmt: skip
"""Parts of messages that other workloads in the same pool can cause."""
_USED = re.compile(r"used: ([^;]*?), limited")


@dataclass(frozen=True)
class Answer:
    """Whether the pods of a workload get their nodes."""

    verdict: Literal["yes", "no", "not judged", "none"]
    """Whether the pods get their nodes; "none": the control plane did not decide in time."""
    by: str = ""
    """The component that prevents it: API server, Pod Security, policy, quota, Kueue, nodes or controller."""
    message: str = ""

    def is_contended(self, *, has_static_nodes: bool, has_own_pool: bool = False) -> bool:
        """Returns whether other workloads at the same time may have caused the answer.

        Args:
            has_static_nodes: whether Karpenter does not start nodes for some pods, so that the scheduler decides alone.
            has_own_pool: whether no other workload was in the pool.
        """
        if self.verdict == "none":
            return True
        if self.verdict != "no" or self.by in ("policy", "Pod Security", "API server"):
            return False
        if used := _USED.search(self.message):
            return any(amount.rpartition("=")[2] not in ("0", "") for amount in used[1].split(","))
        is_by_scheduler = has_static_nodes and not has_own_pool
        message = self.message if is_by_scheduler else self.message.partition(_SCHEDULER)[0]
        return any(part in message for part in (_CONTENDED if has_own_pool else _CONTENDED + _CONTENDED_NODES))


def refusal(message: str) -> Answer:
    """Returns the answer for a request that the API server refused with a message."""
    if "violates PodSecurity" in message:
        return Answer("no", "Pod Security", message)
    if "kueue" in message and "admission webhook" in message:
        return Answer("no", "Kueue", message)
    return Answer("no", refusing_component(message), message)


def answer(watched: WatchedObjects, created: Object) -> Answer | None:
    """Returns the answer for a created workload; None while the control plane has not decided.

    created is the workload, as the API server returned it.
    """
    metadata = created["metadata"]
    root = watched.find((created["apiVersion"], created["kind"]), metadata["uid"])
    if root is None or "deletionTimestamp" in root["metadata"]:
        return Answer("no", "controller", "the workload was deleted") if root else None
    if (manager := root["spec"].get("managedBy", JOB_CONTROLLER)) != JOB_CONTROLLER and root["kind"] == "Job":
        return Answer("no", "controller", f"no controller manages the Jobs of {manager}")
    family = watched.family(metadata["uid"])
    members = [root, *(document for _, document in family)]
    if found := next(_failures(watched, members), None):
        return found
    own = [root] if created["kind"] == "Pod" else [document for kind, document in family if kind == POD]
    names = {node["metadata"]["name"] for node in watched.all(NODE)}
    alive = [pod for pod in own if "deletionTimestamp" not in pod["metadata"]]
    pods = expected_pods(root, [document for kind, document in family if kind == JOB])
    is_started = root["kind"] != "RayJob" or root.get("status", {}).get("jobDeploymentStatus") == "Running"
    if is_started and pods and len(alive) >= pods > 0 and all(pod["spec"].get("nodeName") in names for pod in alive):
        return Answer("yes")
    if pods == 0:
        return Answer("no", "controller", "the workload has no pods")
    if found := next(_waiting_workloads(document for kind, document in family if kind == WORKLOAD), None):
        return found
    return next(filter(None, (_waiting_pod(watched, pod, names) for pod in alive)), None)


def expected_pods(root: Object, jobs: Iterable[Object]) -> int | None:
    """Returns the number of pods of a workload that run at the same time; None while it is unknown."""
    spec = root["spec"]
    match root["kind"]:
        case "Pod":
            return 1
        case "Job":
            parallelism = int(spec.get("parallelism", 1))
            return min(parallelism, int(spec.get("completions") or parallelism))
        case "CronJob":
            return next((expected_pods({"kind": "Job", **job}, ()) for job in jobs), None)
        case "JobSet":
            rows = ((int(row.get("replicas", 1)), row["template"]["spec"]) for row in spec["replicatedJobs"])
            return sum(count * (expected_pods({"kind": "Job", "spec": job}, ()) or 0) for count, job in rows)
        case "RayJob":
            groups = spec["rayClusterSpec"].get("workerGroupSpecs", ())
            return sum(int(row.get("replicas", 0)) for row in groups) + 1 + _has_submitter(spec)
    return int(spec.get("replicas", 1))


def _has_submitter(spec: Object) -> bool:
    """Returns whether KubeRay starts a pod that submits the job of a RayJob."""
    return bool(spec.get("submissionMode", "K8sJobMode") == "K8sJobMode")


def _failures(watched: WatchedObjects, members: Iterable[Object]) -> Iterator[Answer]:
    """Yields answers for failed Jobs, and for pods and Jobs that a controller could not create."""
    for document in members:
        status = document.get("status", {})
        if status.get("jobDeploymentStatus") == "ValidationFailed":
            yield Answer("no", "controller", str(status.get("message")))
        for kind in ("Failed", "FailureTarget"):
            failed = condition(document, kind)
            if failed.get("status") == "True":
                yield Answer("no", "controller", f"{failed.get('reason')}: {failed.get('message')}")
        for event in watched.events_of(document["metadata"]["uid"]):
            message = str(event.get("message", ""))
            is_failure = event.get("type") == "Warning" and str(event.get("reason", "")).startswith(_FAILURES)
            is_failure = is_failure or event.get("reason") in (
                "JobCreationFailed",
                "InvalidSchedule",
                "UnknownTimeZone",
            )
            is_repeated = any(part in message for part in _CONFLICT) or _UNKNOWN_OWNER.search(message)
            if is_failure and not is_repeated:
                yield refusal(message)


def _waiting_workloads(workloads: Iterable[Object]) -> Iterator[Answer]:
    """Yields the messages of Kueue about Workloads that it does not admit."""
    for workload in workloads:
        reserved = condition(workload, "QuotaReserved")
        if reserved.get("status") == "False" and reserved.get("reason") != "Waiting":
            yield Answer("no", "Kueue", str(reserved.get("message", "")))


def _waiting_pod(watched: WatchedObjects, pod: Object, nodes: set[str]) -> Answer | None:
    """Returns why a pod gets no node; None for a pod with a node, or while nothing is decided."""
    spec, node = pod["spec"], pod["spec"].get("nodeName")
    if node:
        return None if node in nodes else Answer("no", "nodes", f"nodeName is {node}, which does not exist")
    gates = [gate["name"] for gate in spec.get("schedulingGates", ())]
    if others := [gate for gate in gates if gate not in KUEUE_GATES]:
        return Answer("no", "nodes", f"scheduling gates {', '.join(others)}")
    if spec.get("schedulerName", "default-scheduler") != "default-scheduler":
        return Answer("no", "nodes", f"no scheduler has the name {spec['schedulerName']}")
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return None
    message = str(scheduled.get("message", ""))
    if any(part in message for part in _FINAL_SCHEDULING):
        return Answer("no", "nodes", message)
    for event in watched.events_of(pod["metadata"]["uid"]):
        text = str(event.get("message", ""))
        is_failure = event.get("reason") == "FailedScheduling" and text.startswith(_KARPENTER_MESSAGE)
        if is_failure and _NOT_YET not in text:
            return no_node(pod, text)
    return None


def no_node(pod: Object, message: str) -> Answer:
    """Returns the answer for a pod about which Karpenter and the scheduler have decided. message: that of Karpenter."""
    return Answer("no", "nodes", f"{message}{_SCHEDULER}{condition(pod, 'PodScheduled').get('message', '')}")


def undecided(watched: WatchedObjects, created: Object) -> Answer:
    """Returns the last state of a workload about which nothing was decided in time."""
    if watched.find((created["apiVersion"], created["kind"]), created["metadata"]["uid"]) is None:
        return Answer("no", "controller", "the workload was deleted")
    family = watched.family(created["metadata"]["uid"])
    pods = [document for kind, document in family if kind == POD] or [created]
    states = [condition(pod, "PodScheduled").get("message", "") for pod in pods if not pod["spec"].get("nodeName")]
    kinds = ", ".join(f"{kind[1]} {document['metadata']['name']}" for kind, document in family[:6])
    events = [str(event.get("message")) for event in watched.events_of(created["metadata"]["uid"])]
    text = "; ".join(filter(None, [kinds or "no objects", *states[:1], *events[-2:]]))
    unscheduled = [state for state in states if state]
    if unscheduled:
        return Answer("no", "nodes", unscheduled[0])
    if any(kind[1] == "RayCluster" and row.get("status", {}).get("state") == "ready" for kind, row in family):
        return Answer("no", "controller", "KubeRay does not submit the job, although its cluster is ready")
    return Answer("none", "", text)
