"""Workloads: sets of equal pods that Kueue admits together, and the requests of the pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuc.kubernetes.amounts import Amounts, amounts
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items, pairs
from gpuc.objects.pods import Pods, pods_of

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
"""The annotation with the minimum number of pods with which a Job starts."""
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class PodSet:
    """A number of equal pods of a workload."""

    pod: Any
    """The spec of the pods, unvalidated."""
    count: int = 1
    name: str = "main"
    """The name that Kueue gives to the pod set."""
    annotations: dict[str, Any] = field(default_factory=dict)
    """The annotations of the pod template."""


class Workload(NamedTuple):
    """Pod sets that Kueue admits together."""

    pod_sets: tuple[PodSet, ...]
    namespace: str
    queue: str
    """The name of the LocalQueue; empty if the object has no queue label."""
    kind: str = "Job"
    api_group: str = "batch"
    name: str = ""
    priority: str = ""
    """The name of the WorkloadPriorityClass; empty if the object has none."""
    copies: int = 1
    """The number of equal workloads. For a Deployment, Kueue admits every pod as a separate workload."""


def pod_requests(pod: Any, defaults: Iterable[Any] = (), *, template: bool = False) -> Amounts:
    """Returns the requests of a pod, as the scheduler and Kueue count them.

    Args:
        pod: the spec of the pod, unvalidated.
        defaults: the limits of type Container in the LimitRanges of the namespace, unvalidated.
        template: whether the pod is the template of a job. A missing request is then the default of a LimitRange, or
            else the limit of the container. For other pods, the limit of the container comes first.

    Source: k8s.io/component-helpers v0.35 resource/helpers.go, PodRequests; kubernetes-sigs/kueue v0.19.2
    pkg/workload/resources.go, AdjustResources; k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, SetDefaults_Pod
    """
    options = list(defaults), template
    running: Amounts = {}
    peak: Amounts = {}
    for _, container in items(dig(pod, "initContainers")):
        requests = _container_requests(container, *options)
        if dig(container, "restartPolicy") == "Always":
            running = _sum(running, requests)
            requests = running
        else:
            requests = _sum(running, requests)
        peak = _max(peak, requests)
    for _, container in items(dig(pod, "containers")):
        running = _sum(running, _container_requests(container, *options))
    containers = _max(running, peak) | {
        **amounts(dig(pod, "resources", "limits")),
        **amounts(dig(pod, "resources", "requests")),
    }
    return _sum(containers, amounts(dig(pod, "overhead")))


def workload_of(manifest: Manifest) -> Workload | None:
    """Returns the workload of an object; None if the object has no pods that Kueue can manage."""
    sets = tuple(_pod_sets(manifest))
    if not sets:
        return None
    labels = _labels(manifest)
    return Workload(
        pod_sets=sets,
        namespace=manifest.namespace,
        queue=str(labels.get(QUEUE_LABEL) or ""),
        kind=manifest.kind,
        api_group=group(manifest),
        name=manifest.name,
        priority=str(labels.get(PRIORITY_LABEL) or ""),
        copies=_copies(manifest),
    )


def _labels(manifest: Manifest) -> dict[str, Any]:
    """Returns the labels from which Kueue reads the queue name.

    For a CronJob, these are the labels of its Jobs; for a ReplicaSet, the labels of its pods.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/deployment/deployment_webhook.go
    """
    spec = dig(manifest.body, "spec")
    template_labels = dict(pairs(dig(spec, "template", "metadata", "labels")))
    match group(manifest), manifest.kind:
        case "batch", "CronJob":
            return dict(pairs(dig(spec, "jobTemplate", "metadata", "labels")))
        case "apps", "ReplicaSet":
            return template_labels
        case "apps", _:
            return template_labels | manifest.labels
    return manifest.labels


def _copies(manifest: Manifest) -> int:
    """Returns the number of equal workloads that Kueue creates for an object.

    A Deployment, ReplicaSet or LeaderWorkerSet has one workload for each replica; another object has one workload.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/statefulset/statefulset_pod_reconciler.go
    """
    kinds = ("apps", "Deployment"), ("apps", "ReplicaSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    return _count(dig(manifest.body, "spec", "replicas"), 1) if (group(manifest), manifest.kind) in kinds else 1


def _pod_sets(manifest: Manifest) -> Iterator[PodSet]:
    """Yields the pod sets of an object. For a RayJob, Kueue adds a pod set for the pod that submits the job."""
    for pods in pods_of(manifest):
        name, count = _name_and_count(pods)
        if count > 0:
            annotations = dict(pairs(dig(pods.template, "metadata", "annotations")))
            yield PodSet(pods.spec, count, name, annotations)
    spec = manifest.body.get("spec")
    if (group(manifest), manifest.kind) == ("ray.io", "RayJob") and dig(spec, "submissionMode") in (None, "K8sJobMode"):
        declared = dig(spec, "submitterPodTemplate", "spec")
        yield PodSet(declared if declared is not None else _SUBMITTER, 1, "submitter")


def _name_and_count(pods: Pods) -> tuple[str, int]:
    """Returns the pod set name and the number of pods of a template; the number is 0 if Kueue does not manage the kind.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs, PodSets of each kind
    """
    manifest, path = pods.manifest, pods.path
    parent = dig(manifest.body, *path[:-1])
    match group(manifest), manifest.kind:
        case ("", "Pod") | ("apps", "Deployment" | "ReplicaSet"):
            return "main", 1
        case "batch", "Job":
            minimum = manifest.annotations.get(MIN_PARALLELISM)
            parallel = _parallel_pods(parent)
            if isinstance(minimum, str) and _NUMBER.fullmatch(minimum):
                return "main", min(int(minimum), parallel)
            return "main", parallel
        case "batch", "CronJob":
            return "main", _parallel_pods(parent)
        case "apps", "StatefulSet":
            return "main", _count(dig(parent, "replicas"), 1)
        case other:
            return _name_and_count_of_frameworks(*other, pods, parent)


def _name_and_count_of_frameworks(api: str, kind: str, pods: Pods, parent: Any) -> tuple[str, int]:
    """Returns the pod set name and the number of pods for the kinds of JobSet, LeaderWorkerSet, KubeRay and Kubeflow.

    Args:
        parent: the object around the template, which contains the number of replicas.
    """
    manifest, path = pods.manifest, pods.path
    match api, kind:
        case "jobset.x-k8s.io", "JobSet":
            job = dig(manifest.body, *path[:3])
            return str(dig(job, "name")), _count(dig(job, "replicas"), 1) * _parallel_pods(parent)
        case "leaderworkerset.x-k8s.io", "LeaderWorkerSet":
            has_leader = isinstance(dig(parent, "leaderTemplate"), dict)
            if path[-1] == "leaderTemplate":
                return "leader", 1
            return "worker" if has_leader else "main", _count(dig(parent, "size"), 1) - has_leader
        case "ray.io", "RayCluster" | "RayJob":
            if path[-2] == "headGroupSpec":
                return "head", 1
            hosts = _count(dig(parent, "numOfHosts"), 1)
            return str(dig(parent, "groupName")), _count(dig(parent, "replicas"), 1) * hosts
        case "kubeflow.org", _:
            return str(path[-2]).lower(), _count(dig(parent, "replicas"), 1)
    return "", 0


_SUBMITTER = {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
"""The spec of the default pod that submits a RayJob.

Source: ray-project/kuberay v1.6 ray-operator/controllers/ray/common/job.go, GetDefaultSubmitterTemplate
"""


def _parallel_pods(job: Any) -> int:
    """Returns the number of pods of a Job that run at the same time."""
    parallel = _count(dig(job, "parallelism"), 1)
    return min(parallel, _count(dig(job, "completions"), parallel))


def _count(value: Any, default: int) -> int:
    """Returns the value if it is a number of at least 0, otherwise the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _container_requests(container: Any, defaults: Iterable[Any], template: bool) -> Amounts:
    """Returns the requests of a container, with missing requests from its limits and the defaults of LimitRanges."""
    requests = amounts(dig(container, "resources", "requests"))
    limits = amounts(dig(container, "resources", "limits"))
    if not template:
        requests = {**limits, **requests}
    for limit in defaults:
        requests = {**amounts(dig(limit, "defaultRequest")), **requests}
        limits = {**amounts(dig(limit, "default")), **limits}
    return {**limits, **requests}


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _max(left: Amounts, right: Amounts) -> Amounts:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}
