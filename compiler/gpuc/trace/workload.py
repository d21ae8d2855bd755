"""Workloads: sets of equal pods that Kueue admits together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from gpuc.admission.mutating import admitted_pod, queued_pod
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import MIN_PARALLELISM, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.kubernetes.toleration import Toleration
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import tolerations
from gpuc.trace.steps import Step

CLAIM_TEMPLATES: dict[str, Path] = {
    "StatefulSet": ("spec", "volumeClaimTemplates"),
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "volumeClaimTemplates"),
}
"""The path of the templates of PersistentVolumeClaims, by kind.

Source: kubernetes-sigs/lws v0.9.0 pkg/controllers/leaderworkerset_controller.go, pod_controller.go: the StatefulSets of
leaders and of workers have the same templates.
"""
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
    labels: dict[str, Any] = field(default_factory=dict)
    """The labels of the pods, as far as they are known before the pods exist."""
    path: Path = ()
    """The path of the pod template in the object; empty for a Pod, and for a template that the object does not have."""
    claims: tuple[Any, ...] = ()
    """The templates of the PersistentVolumeClaims that the StatefulSet controller creates for each pod, unvalidated."""

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations of the pods."""
        return tolerations(dig(self.pod, "tolerations"))


class Workload(NamedTuple):
    """Pod sets that Kueue admits together."""

    pod_sets: tuple[PodSet, ...]
    """The pod sets with pods; empty for a workload whose number of pods is 0."""
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
    autoscaler: str = ""
    """The sentence about an autoscaler that runs more replicas than the object declares; empty without one."""
    rejected: Step | None = None
    """The step with which kubectl or the API server refuses the object at once; None if it checks the object."""
    object: Body | None = None
    """The object with apiVersion, kind, metadata and spec, unvalidated; None for a Job that pod sets describe."""

    @property
    def document(self) -> Body:
        """The object with the namespace, the queue and the priority class of the workload."""
        document = self.object if self.object is not None else self._job()
        metadata = {**dict(pairs(dig(document, "metadata"))), "namespace": self.namespace}
        return {**document, "metadata": metadata}

    def with_labels(self, namespace: str, queue: str, priority: str) -> Workload:
        """Returns the workload in a namespace, with the labels of a queue and of a WorkloadPriorityClass."""
        chosen = {QUEUE_LABEL: queue, PRIORITY_LABEL: priority}
        labels = {key: value for key, value in chosen.items() if value}
        renamed = self._replace(namespace=namespace, queue=queue, priority=priority)
        path = _LABEL_PATHS.get(self.kind, ("metadata", "labels"))
        is_unchanged = (queue, priority) == (self.queue, self.priority)
        return renamed if is_unchanged else renamed._replace(object=_merged(self.document, path, labels))

    def _job(self) -> Body:
        """Returns the Job that the first pod set describes."""
        pods = self.pod_sets[0]
        labels = {QUEUE_LABEL: self.queue, PRIORITY_LABEL: self.priority}
        counts = {"parallelism": pods.count, "completions": pods.count}
        template = {
            "metadata": {"labels": pods.labels, "annotations": pods.annotations},
            "spec": {"restartPolicy": "Never", **dict(pairs(pods.pod))},
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": self.name or "described",
                "labels": {key: text for key, text in labels.items() if text},
            },
            "spec": {**counts, "podReplacementPolicy": "Failed", "template": template},
        }


_LABEL_PATHS: dict[str, Path] = {
    "CronJob": ("spec", "jobTemplate", "metadata", "labels"),
    "ReplicaSet": ("spec", "template", "metadata", "labels"),
}
"""The path of the labels from which Kueue reads the queue name, by kind; metadata.labels for other kinds."""


def _merged(document: Any, path: Path, labels: dict[str, str]) -> Any:
    """Returns a document with more labels in the map at a path."""
    if not path:
        return {**dict(pairs(document)), **labels}
    return {**dict(pairs(document)), path[0]: _merged(dig(document, path[0]), path[1:], labels)}


def created_pods(objects: ObjectSet, workload: Workload) -> list[PodSet]:
    """Returns the pod sets with the specs that the API server stores for their pods."""
    spec = partial(admitted_pod, objects, workload.namespace)
    return [replace(pods, pod=spec(pods.pod)) for pods in workload.pod_sets]


def queued_pods(objects: ObjectSet, workload: Workload) -> list[PodSet]:
    """Returns the pod sets with the specs whose requests Kueue counts: of a Pod itself, else of the pod templates."""
    if workload.kind == "Pod":
        return created_pods(objects, workload)
    spec = partial(queued_pod, objects, workload.namespace)
    return [replace(pods, pod=spec(pods.pod)) for pods in workload.pod_sets]


def workload_of(manifest: Manifest, document: Body | None = None) -> Workload | None:
    """Returns the workload of an object; None if the object has no pods that Kueue can manage.

    Args:
        document: the object as the user wrote it, with all metadata; by default the document of the manifest.
    """
    declared = list(_pod_sets(manifest))
    if not declared:
        return None
    sets = tuple(pods for pods in declared if pods.count)
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
        object=manifest.document() if document is None else document,
    )


def _labels(manifest: Manifest) -> dict[str, Any]:
    """Returns the labels from which Kueue reads the queue name.

    For a CronJob, these are the labels of its Jobs; for a ReplicaSet, the labels of its pods.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/deployment/deployment_webhook.go
    """
    if path := _LABEL_PATHS.get(manifest.kind):
        return dict(pairs(dig(manifest.body, *path)))
    template = dig(manifest.body, "spec", "template", "metadata", "labels") if group(manifest) == "apps" else None
    return {**dict(pairs(template)), **manifest.labels}


def _copies(manifest: Manifest) -> int:
    """Returns the number of equal workloads that Kueue creates for an object.

    A Deployment, ReplicaSet or LeaderWorkerSet has one workload for each replica; another object has one workload.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/statefulset/statefulset_pod_reconciler.go
    """
    kinds = ("apps", "Deployment"), ("apps", "ReplicaSet"), ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    return count_or(dig(manifest.body, "spec", "replicas"), 1) if (group(manifest), manifest.kind) in kinds else 1


def _pod_sets(manifest: Manifest) -> Iterator[PodSet]:
    """Yields the pod sets of an object. For a RayJob, Kueue adds a pod set for the pod that submits the job."""
    claims = tuple(claim for _, claim in items(dig(manifest.body, *CLAIM_TEMPLATES.get(manifest.kind, ()))))
    for pods in pods_of(manifest):
        name, count = _name_and_count(pods)
        if name:
            annotations = dict(pairs(dig(pods.template, "metadata", "annotations")))
            labels = {**dict(pairs(dig(pods.template, "metadata", "labels"))), **pods.labels}
            yield PodSet(pods.spec, count, name, annotations, labels, pods.path, claims)
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
            minimum, parallel = manifest.annotations.get(MIN_PARALLELISM), _parallel_pods(parent)
            if isinstance(minimum, str) and _NUMBER.fullmatch(minimum):
                parallel = min(int(minimum), parallel)
            return "main", parallel
        case "batch", "CronJob":
            return "main", _parallel_pods(parent)
        case "apps", "StatefulSet":
            return "main", count_or(dig(parent, "replicas"), 1)
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
            return str(dig(job, "name")), count_or(dig(job, "replicas"), 1) * _parallel_pods(parent)
        case "leaderworkerset.x-k8s.io", "LeaderWorkerSet":
            has_leader = isinstance(dig(parent, "leaderTemplate"), dict)
            if path[-1] == "leaderTemplate":
                return "leader", 1
            return "worker" if has_leader else "main", count_or(dig(parent, "size"), 1) - has_leader
        case "ray.io", "RayCluster" | "RayJob":
            if path[-2] == "headGroupSpec":
                return "head", 1
            hosts = count_or(dig(parent, "numOfHosts"), 1)
            return str(dig(parent, "groupName")), count_or(dig(parent, "replicas"), 1) * hosts
        case "kubeflow.org", _:
            return str(path[-2]).lower(), count_or(dig(parent, "replicas"), 1)
    return "", 0


_SUBMITTER = {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
"""The spec of the default pod that submits a RayJob.

Source: ray-project/kuberay v1.6 ray-operator/controllers/ray/common/job.go, GetDefaultSubmitterTemplate
"""


def _parallel_pods(job: Any) -> int:
    """Returns the number of pods of a Job that run at the same time."""
    parallel = count_or(dig(job, "parallelism"), 1)
    return min(parallel, count_or(dig(job, "completions"), parallel))


def count_or(value: Any, default: int) -> int:
    """Returns the value if it is a number of at least 0, otherwise the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
