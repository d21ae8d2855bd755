"""Predicts the pods that KubeRay creates for a Ray cluster, and the requests that Kueue counts for these pods.

Source: ray-project/kuberay v1.6.2 ray-operator/controllers/ray: common/pod.go (DefaultHeadPodTemplate,
DefaultWorkerPodTemplate, BuildAutoscalerContainer, addEmptyDir), common/job.go (GetDefaultSubmitterContainer),
rayjob_controller.go (constructRayClusterForRayJob, getSubmitterTemplate), utils/util.go
(GetWorkerGroupDesiredReplicas); kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs: raycluster/common.go (BuildPodSets),
rayjob/rayjob_controller.go (addSubmitterPodSet, addSidecarSubmitterToHeadPodSet, Skip)
"""

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import amount
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig, items, pairs
from gpuc.parts.workload_kind import FurtherPods, Made

_MOST_REPLICAS = 2**31 - 1
_FAULT_TOLERANT = "ray.io/ft-enabled"
_SUBMITTER_FIELD: Path = ("spec", "submitterPodTemplate")
_OF_SUBMITTER = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}
_OF_AUTOSCALER = {part: {"cpu": "500m", "memory": "512Mi"} for part in ("limits", "requests")}
_SMALL = {"cpu": "200m", "memory": "256Mi"}
"""The requests of the container that waits for the head, and of the Job that Kueue counts with fault tolerance."""


def worker_pods(group: Any) -> int:
    """Returns how many pods Kueue counts for a group of Ray workers, whose missing fields have their defaults."""
    return count_or(dig(group, "replicas"), 0) * max(1, count_or(dig(group, "numOfHosts"), 1))


def made(document: Body, path: Path, pod: Any) -> Made:
    """Returns the pods that KubeRay creates from a template, in the form that parts.workload_kind.Traits explains."""
    group = dig(document, *path[:-1])
    containers = [row for _, row in items(dig(pod, "containers"))]
    if path[-2] != "headGroupSpec":
        count = _running_workers(group)
        return Made(_worker(pod, containers, group) if containers else pod, count, pod)
    if not containers:
        return Made(pod, 1, pod)
    cluster, image = dig(document, *path[:-2]), dig(containers[0], "image")
    added = [_autoscaler(cluster, image)] if dig(cluster, "enableInTreeAutoscaling") is True else []
    head = {**pod}
    if dig(document, "spec", "submissionMode") == "SidecarMode":
        added.append(_submitter(image))
        head["restartPolicy"] = "Never"
    head["containers"] = [*containers, *added]
    first = _with_cleanup(containers[0]) if _is_fault_tolerant(document, cluster) else containers[0]
    queued = {**head, "containers": [first, *head["containers"][1:]]}
    return Made(_with_shared_memory(head, group), 1, queued)


def _running_workers(group: Any) -> int:
    """Returns the number of pods that KubeRay starts for a group of workers: within minReplicas and maxReplicas."""
    if dig(group, "suspend") is True:
        return 0
    least, most = count_or(dig(group, "minReplicas"), 0), count_or(dig(group, "maxReplicas"), _MOST_REPLICAS)
    wanted = count_or(dig(group, "replicas"), 0)
    return (least if wanted < least else min(wanted, most)) * count_or(dig(group, "numOfHosts"), 1)


def _worker(pod: Any, containers: list[Any], group: Any) -> Body:
    """Returns the spec of a worker with the init container that waits for the head."""
    names = ("image", "imagePullPolicy", "securityContext", "env", "volumeMounts")
    copied = {name: value for name in names if (value := dig(containers[0], name)) is not None}
    waiting = {"name": "wait-gcs-ready", **copied, "resources": dict.fromkeys(("limits", "requests"), _SMALL)}
    init = [row for _, row in items(dig(pod, "initContainers"))]
    return _with_shared_memory({**pod, "initContainers": [*init, waiting]}, group)


def _with_shared_memory(pod: Body, group: Any) -> Body:
    """Returns the spec of a pod with a volume in memory at /dev/shm, unless the pod mounts another."""
    first, *others = pod["containers"]
    mounts = [row for _, row in items(dig(first, "volumeMounts"))]
    is_mounted = any(dig(row, "mountPath") == "/dev/shm" for row in mounts)
    if is_mounted or "plasma-directory" in dict(pairs(dig(group, "rayStartParams"))) or not isinstance(first, dict):
        return pod
    volumes = [row for _, row in items(pod.get("volumes"))]
    size = dig(first, "resources", "limits", "memory") or dig(first, "resources", "requests", "memory")
    directory = {"medium": "Memory", **({"sizeLimit": size} if size else {})}
    added = [] if any(dig(row, "name") == "shared-mem" for row in volumes) else [
        {"name": "shared-mem", "emptyDir": directory}
    ]  # fmt: skip
    mounted = {**first, "volumeMounts": [*mounts, {"name": "shared-mem", "mountPath": "/dev/shm"}]}
    return {**pod, "containers": [mounted, *others], "volumes": [*volumes, *added]}


def _autoscaler(cluster: Any, image: Any) -> Body:
    options = dig(cluster, "autoscalerOptions")
    names = ("imagePullPolicy", "env", "envFrom", "volumeMounts", "securityContext")
    chosen = {name: value for name in names if (value := dig(options, name)) is not None}
    resources = dig(options, "resources") or _OF_AUTOSCALER
    return {"name": "autoscaler", **chosen, "image": dig(options, "image") or image, "resources": resources}


def _submitter(image: Any) -> Body:
    return {"name": "ray-job-submitter", "image": image, "resources": _OF_SUBMITTER}


def _is_fault_tolerant(document: Body, cluster: Any) -> bool:
    annotated = str(dig(document, "metadata", "annotations", _FAULT_TOLERANT)).lower() == "true"
    return annotated or dig(cluster, "gcsFaultToleranceOptions") is not None


def _with_cleanup(container: Any) -> Any:
    """Returns the first container of a head with the requests that Kueue raises to those of the cleanup of Redis."""
    resources = dict(pairs(dig(container, "resources")))
    requests = dict(pairs(resources.get("requests")))
    raised = ((name, text, amount(name, requests.get(name)) or 0) for name, text in _SMALL.items())
    low = {name: text for name, text, own in raised if own < (amount(name, text) or 0)}
    return {**dict(pairs(container)), "resources": {**resources, "requests": {**requests, **low}}}


def submitter(document: Body) -> Iterator[FurtherPods]:
    """Yields the pod that submits the job of a RayJob. By default, this is a small pod with the image of the Ray head.

    If a RayJob without a template for this pod uses an existing cluster, the pod has the image of that cluster's head.
    """
    if dig(document, "spec", "submissionMode") not in (None, "K8sJobMode"):
        return
    template, head = dig(document, *_SUBMITTER_FIELD), ("spec", "rayClusterSpec", "headGroupSpec", "template", "spec")
    if template is None and not existing_cluster(document):
        image = dig(document, *head, "containers", 0, "image")
        template = {"spec": {"restartPolicy": "Never", "containers": [_submitter(image)]}}
    if template is not None:
        yield FurtherPods("submitter", template, _SUBMITTER_FIELD)


def existing_cluster(document: Body) -> str:
    """Returns a message that a RayJob uses an existing RayCluster; an empty text if the RayJob creates a RayCluster."""
    name = dict(pairs(dig(document, "spec", "clusterSelector")))
    return f"clusterSelector gives the job to RayCluster {name.get('ray.io/cluster')}" if name else ""
