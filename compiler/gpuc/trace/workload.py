"""The class Workload: an object with pods that Kueue admits together, as sets of equal pods."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.admission.mutating import admitted_pod, queued_pod
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import PRIORITY_LABEL, QUEUE_LABEL
from gpuc.kubernetes.toleration import Toleration
from gpuc.manifest.manifest import Body, Manifest, manifest_of
from gpuc.objects.object_set import ObjectSet, count_or, dig, group, items, pairs
from gpuc.objects.pods import pods_of
from gpuc.objects.selectors import tolerations
from gpuc.parts.workload_kind import Find, Made, Problem, WorkloadKind
from gpuc.parts.workload_kinds import workload_kind
from gpuc.trace.steps import Step


class PodSet(Struct, frozen=True):
    """A set of equal pods of a workload: their spec and their number."""

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
    queued: tuple[Any, int] | None = None
    """The spec and the number of the pods that Kueue counts; None if these are the pods themselves."""
    job_field: Path = ()
    """The field in which users can write the template of a pod that a Job of the controller runs; else empty."""
    more: int = 0
    """The number of further pods that Kueue admits if the quota is enough for them."""

    @property
    def seen_by_kueue(self) -> "PodSet":
        """The pods and the number of pods that Kueue counts for this set. The pods that really run can differ."""
        return replace(self, pod=self.queued[0], count=self.queued[1]) if self.queued else self

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations of the pods."""
        return tolerations(dig(self.pod, "tolerations"))


class Workload(NamedTuple):
    """An object with pods, for example a Job, as sets of equal pods that Kueue admits together."""

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
    held_sets: tuple[PodSet, ...] = ()
    """The pod sets that Kueue counts, but of which the controller creates no pods."""
    made: Manifest | None = None
    """The workload that the controller creates from the object and from a runtime; None if the object has the pods."""
    problems: tuple[Problem, ...] = ()
    """Why the object is not run as its user expects."""
    object: Body | None = None
    """The object with apiVersion, kind, metadata and spec, unvalidated; None for a Job that pod sets describe."""

    @property
    def record(self) -> WorkloadKind:
        """What gpuc knows about the kind of the workload."""
        return workload_kind(self.api_group, self.kind)

    @property
    def source(self) -> tuple[WorkloadKind, Body]:
        """What gpuc knows about the kind of the object whose controller creates the pods; then the object itself."""
        made = self.made
        return (workload_kind(group(made), made.kind), made.document()) if made else (self.record, self.document)

    @property
    def document(self) -> Body:
        """The object of the workload, with its namespace, queue and priority class."""
        document = self.object if self.object is not None else self._job()
        metadata = {**dict(pairs(dig(document, "metadata"))), "namespace": self.namespace}
        return {**document, "metadata": metadata}

    def with_labels(self, namespace: str, queue: str, priority: str) -> "Workload":
        """Returns a copy of the workload in this namespace, with this queue name and this WorkloadPriorityClass."""
        chosen = {QUEUE_LABEL: queue, PRIORITY_LABEL: priority}
        labels = {key: value for key, value in chosen.items() if value}
        renamed = self._replace(namespace=namespace, queue=queue, priority=priority)
        path = self.record.queueing.labels[-1]
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


def _merged(document: Any, path: Path, labels: dict[str, str]) -> Any:
    """Returns a document with more labels in the map at a path."""
    if not path:
        return {**dict(pairs(document)), **labels}
    return {**dict(pairs(document)), path[0]: _merged(dig(document, path[0]), path[1:], labels)}


def created_pods(objects: ObjectSet, workload: Workload) -> list[PodSet]:
    """Returns the pod sets of a workload with the pod specs that the API server stores, which have all defaults."""
    spec = partial(admitted_pod, objects, workload.namespace)
    return [replace(pods, pod=spec(pods.pod)) for pods in workload.pod_sets]


def queued_pods(objects: ObjectSet, workload: Workload) -> list[PodSet]:
    """Returns the pod sets as Kueue counts them. The pod specs come from the Pod, or else from the pod templates."""
    if workload.record.is_pod:
        return created_pods(objects, workload)
    spec = partial(queued_pod, objects, workload.namespace)
    seen = [pods.seen_by_kueue for pods in (*workload.pod_sets, *workload.held_sets)]
    return [replace(pods, pod=spec(pods.pod)) for pods in seen]


def workload_of(manifest: Manifest, document: Body | None = None, objects: ObjectSet | None = None) -> Workload | None:
    """Returns the Workload for an object; None if the object has no pods that Kueue can manage.

    Args:
        document: the object as the user wrote it, with all metadata; by default the document of the manifest.
        objects: objects with the runtimes that describe the pods of other objects.
    """
    record, made = workload_kind(group(manifest), manifest.kind), None
    problems: tuple[Problem, ...] = ()
    if record.traits.resolved and objects is not None:
        body, problems = record.traits.resolved(manifest.document(), _finder(objects))
        made = manifest_of(body) if body else None
    if made:
        found = _pod_sets(made, workload_kind(group(made), made.kind))
        declared = [replace(pods, path=()) for pods in found]
    else:
        declared = list(_pod_sets(manifest, record))
    if not declared and not problems:
        return None
    sets = tuple(pods for pods in declared if pods.count)
    held = tuple(pods for pods in declared if not pods.count and pods.seen_by_kueue.count)
    written = manifest.document()
    labels = {key: value for path in record.queueing.labels for key, value in pairs(dig(written, *path))}
    replicas = count_or(dig(manifest.body, "spec", "replicas"), 1) if record.queueing.is_per_replica else 1
    return Workload(
        pod_sets=sets,
        namespace=manifest.namespace,
        queue=str(labels.get(QUEUE_LABEL) or ""),
        kind=manifest.kind,
        api_group=group(manifest),
        name=manifest.name,
        priority=str(labels.get(PRIORITY_LABEL) or ""),
        copies=replicas,
        held_sets=held,
        made=made,
        problems=problems,
        object=written if document is None else document,
    )


def _finder(objects: ObjectSet) -> Find:
    def find(api_group: str, kind: str, name: str, namespace: str) -> Body | None:
        found = objects.find(api_group, kind, name, namespace)
        return found.document() if found else None

    return find


def _pod_sets(manifest: Manifest, record: WorkloadKind) -> Iterator[PodSet]:
    """Yields the pod sets of an object; none if gpuc does not trace the kind."""
    document, traits = manifest.document(), record.traits
    claims = tuple(claim for _, claim in items(dig(document, *traits.claims)))
    if record.pod_set is None:
        return
    for pods in () if traits.elsewhere(document) else pods_of(manifest):
        name, count = record.pod_set(document, pods.path)
        _, most = record.pod_set({**document, "metadata": {}}, pods.path)  # annotations can allow a smaller number
        made = traits.made(document, pods.path, pods.spec) or Made(pods.spec, count, pods.spec)
        queued = None if (made.pod, made.number) == (made.queued, count) else (made.queued, count)
        annotations = dict(pairs(dig(pods.template, "metadata", "annotations")))
        labels = {**dict(pairs(dig(pods.template, "metadata", "labels"))), **pods.labels}
        yield PodSet(made.pod, made.number, name, annotations, labels, pods.path, claims, queued, more=most - count)
    for pod in traits.further_pods(document):
        own, path = dig(pod.template, "metadata"), () if dig(document, *pod.field) is None else pod.field
        notes, marks = (dict(pairs(dig(own, part))) for part in ("annotations", "labels"))
        yield PodSet(dig(pod.template, "spec"), 1, pod.pod_set, notes, marks, path, job_field=pod.field)
