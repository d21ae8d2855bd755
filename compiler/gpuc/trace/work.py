"""Work that somebody submits: pods of one or several kinds, and what they ask for."""

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
LEAST = "kueue.x-k8s.io/job-min-parallelism"
"""With so many pods a Job starts when there is no quota for all."""
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class PodSet:
    """Equal pods of a workload."""

    pod: Any
    """Their spec, plain data of any shape."""
    count: int = 1
    name: str = "main"
    notes: dict[str, Any] = field(default_factory=dict)
    """Annotations of the template."""


class Work(NamedTuple):
    """What is admitted together, or not at all."""

    pod_sets: tuple[PodSet, ...]
    namespace: str
    queue: str
    """The LocalQueue; empty where the object names none."""
    kind: str = "Job"
    api_group: str = "batch"
    name: str = ""
    priority: str = ""
    """A WorkloadPriorityClass; empty where none is named."""
    copies: int = 1
    """How often it is there: each pod of a Deployment waits in the queue by itself."""


def requests(pod: Any, defaults: Iterable[Any] = (), *, template: bool = False) -> Amounts:
    """What the scheduler and Kueue count for a pod.

    Args:
        defaults: the container limits of the namespace's LimitRanges, as plain data.
        template: whether it is what Kueue counts for the template of a job. There the defaults of LimitRanges come
            before limits; when the pod is made, the API server first takes limits for requests.

    Source: k8s.io/component-helpers v0.35 resource/helpers.go, PodRequests; kubernetes-sigs/kueue v0.19.2
    pkg/workload/resources.go, AdjustResources; k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, SetDefaults_Pod
    """
    kept = list(defaults), template
    running: Amounts = {}
    peak: Amounts = {}
    for _, container in items(dig(pod, "initContainers")):
        asked = _asked(container, *kept)
        if dig(container, "restartPolicy") == "Always":
            running = _sum(running, asked)
            asked = running
        else:
            asked = _sum(running, asked)
        peak = _most(peak, asked)
    for _, container in items(dig(pod, "containers")):
        running = _sum(running, _asked(container, *kept))
    whole = _most(running, peak) | {
        **amounts(dig(pod, "resources", "limits")),
        **amounts(dig(pod, "resources", "requests")),
    }
    return _sum(whole, amounts(dig(pod, "overhead")))


def work_of(manifest: Manifest) -> Work | None:
    """The workload that an object is; None for kinds that are none."""
    sets = tuple(_pod_sets(manifest))
    if not sets:
        return None
    labels = _labels(manifest)
    return Work(
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
    """The labels that name the queue: a CronJob's own are not those of its Jobs, a ReplicaSet's not of its pods.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/deployment/deployment_webhook.go
    """
    spec = dig(manifest.body, "spec")
    below = dict(pairs(dig(spec, "template", "metadata", "labels")))
    match group(manifest), manifest.kind:
        case "batch", "CronJob":
            return dict(pairs(dig(spec, "jobTemplate", "metadata", "labels")))
        case "apps", "ReplicaSet":
            return below
        case "apps", _:
            return below | manifest.labels
    return manifest.labels


def _copies(manifest: Manifest) -> int:
    """Workloads that an object makes: of a StatefulSet all pods are one, of a LeaderWorkerSet each group is.

    Source: the same version, pkg/controller/jobs/statefulset/statefulset_pod_reconciler.go
    """
    kinds = ("apps", "Deployment"), ("apps", "ReplicaSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    return _count(dig(manifest.body, "spec", "replicas"), 1) if (group(manifest), manifest.kind) in kinds else 1


def _pod_sets(manifest: Manifest) -> Iterator[PodSet]:
    for pods in pods_of(manifest):
        name, count = _name_and_count(pods)
        if count > 0:
            notes = dict(pairs(dig(pods.template, "metadata", "annotations")))
            yield PodSet(pods.spec, count, name, notes)
    spec = manifest.body.get("spec")
    if (group(manifest), manifest.kind) == ("ray.io", "RayJob") and dig(spec, "submissionMode") in (None, "K8sJobMode"):
        own = dig(spec, "submitterPodTemplate", "spec")
        yield PodSet(own if own is not None else _SUBMITTER, 1, "submitter")


def _name_and_count(pods: Pods) -> tuple[str, int]:
    """What Kueue calls the pods of a template, and how many there are; none for kinds that it does not queue.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs, PodSets of each kind
    """
    manifest, path = pods.manifest, pods.path
    holder = dig(manifest.body, *path[:-1])
    match group(manifest), manifest.kind:
        case ("", "Pod") | ("apps", "Deployment" | "ReplicaSet"):
            return "main", 1
        case "batch", "Job":
            least = manifest.annotations.get(LEAST)
            few = int(least) if isinstance(least, str) and _NUMBER.fullmatch(least) else _jobs_pods(holder)
            return "main", min(few, _jobs_pods(holder))
        case "batch", "CronJob":
            return "main", _jobs_pods(holder)
        case "apps", "StatefulSet":
            return "main", _count(dig(holder, "replicas"), 1)
        case other:
            return _name_and_count_of_frameworks(*other, pods, holder)


def _name_and_count_of_frameworks(api: str, kind: str, pods: Pods, holder: Any) -> tuple[str, int]:
    """The same for kinds that Kubernetes itself does not have."""
    manifest, path = pods.manifest, pods.path
    match api, kind:
        case "jobset.x-k8s.io", "JobSet":
            job = dig(manifest.body, *path[:3])
            return str(dig(job, "name")), _count(dig(job, "replicas"), 1) * _jobs_pods(holder)
        case "leaderworkerset.x-k8s.io", "LeaderWorkerSet":
            has_leader = isinstance(dig(holder, "leaderTemplate"), dict)
            if path[-1] == "leaderTemplate":
                return "leader", 1
            return "worker" if has_leader else "main", _count(dig(holder, "size"), 1) - has_leader
        case "ray.io", "RayCluster" | "RayJob":
            if path[-2] == "headGroupSpec":
                return "head", 1
            hosts = _count(dig(holder, "numOfHosts"), 1)
            return str(dig(holder, "groupName")), _count(dig(holder, "replicas"), 1) * hosts
        case "kubeflow.org", _:
            return str(path[-2]).lower(), _count(dig(holder, "replicas"), 1)
    return "", 0


_SUBMITTER = {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
"""The pod that submits a RayJob, where the object brings none.

Source: ray-project/kuberay v1.6 ray-operator/controllers/ray/common/job.go, GetDefaultSubmitterTemplate
"""


def _jobs_pods(job: Any) -> int:
    """Pods of a Job that run at the same time."""
    parallel = _count(dig(job, "parallelism"), 1)
    return min(parallel, _count(dig(job, "completions"), parallel))


def _count(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _asked(container: Any, defaults: Iterable[Any], template: bool) -> Amounts:
    """Requests of a container: its own, then its limits and the LimitRanges' in the order that holds."""
    found = amounts(dig(container, "resources", "requests"))
    limits = amounts(dig(container, "resources", "limits"))
    if not template:
        found = {**limits, **found}
    for each in defaults:
        found = {**amounts(dig(each, "defaultRequest")), **found}
        limits = {**amounts(dig(each, "default")), **limits}
    return {**limits, **found}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
