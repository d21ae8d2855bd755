"""Work that somebody submits: pods of one or several kinds, and what they ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from compiler.manifest import Manifest
from compiler.verify.scheduling.amounts import Amounts, amounts
from compiler.verify.tree import dig, group, items, pairs

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


@dataclass(frozen=True)
class Work:
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


def requests(pod: Any, defaults: Iterable[Any] = ()) -> Amounts:
    """What the scheduler and Kueue count for a pod.

    Args:
        defaults: the container limits of the namespace's LimitRanges, as plain data.

    Source: k8s.io/component-helpers v0.35 resource/helpers.go, PodRequests; kubernetes-sigs/kueue v0.19.2
    pkg/workload/resources.go, AdjustResources
    """
    kept = list(defaults)
    running: Amounts = {}
    peak: Amounts = {}
    for _, container in items(dig(pod, "initContainers")):
        asked = _asked(container, kept)
        if dig(container, "restartPolicy") == "Always":
            running = _sum(running, asked)
            asked = running
        else:
            asked = _sum(running, asked)
        peak = _most(peak, asked)
    for _, container in items(dig(pod, "containers")):
        running = _sum(running, _asked(container, kept))
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
    labels = manifest.labels
    return Work(
        pod_sets=sets,
        namespace=manifest.namespace,
        queue=str(labels.get(QUEUE_LABEL) or ""),
        kind=manifest.kind,
        api_group=group(manifest),
        name=manifest.name,
        priority=str(labels.get(PRIORITY_LABEL) or ""),
    )


def _pod_sets(manifest: Manifest) -> Iterator[PodSet]:
    spec = dig(manifest.body, "spec")
    match group(manifest), manifest.kind:
        case "", "Pod":
            yield PodSet(spec, notes=manifest.annotations)
        case "batch", "Job":
            least = manifest.annotations.get(LEAST)
            few = int(least) if isinstance(least, str) and _NUMBER.fullmatch(least) else _jobs_pods(spec)
            yield _of_template(spec, "main", min(few, _jobs_pods(spec)))
        case "batch", "CronJob":
            yield _of_template(dig(spec, "jobTemplate", "spec"), "main", _jobs_pods(dig(spec, "jobTemplate", "spec")))
        case "apps", "Deployment" | "StatefulSet" | "ReplicaSet":
            # Each pod of these waits in the queue by itself.
            yield _of_template(spec, "main", 1)
        case "jobset.x-k8s.io", "JobSet":
            for _, each in items(dig(spec, "replicatedJobs")):
                job = dig(each, "template", "spec")
                yield _of_template(job, str(dig(each, "name")), _count(dig(each, "replicas"), 1) * _jobs_pods(job))
        case "kubeflow.org", _:
            replicas = next((value for key, value in pairs(spec) if str(key).endswith("ReplicaSpecs")), None)
            for name, each in pairs(replicas):
                yield _of_template(each, str(name).lower(), _count(dig(each, "replicas"), 1))


def _jobs_pods(job: Any) -> int:
    """Pods of a Job that run at the same time."""
    parallel = _count(dig(job, "parallelism"), 1)
    return min(parallel, _count(dig(job, "completions"), parallel))


def _of_template(holder: Any, name: str, count: int) -> PodSet:
    notes = dig(holder, "template", "metadata", "annotations")
    return PodSet(dig(holder, "template", "spec"), count, name, dict(pairs(notes)))


def _count(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _asked(container: Any, defaults: Iterable[Any]) -> Amounts:
    """Requests of a container: its own, then the LimitRanges', then its limits."""
    found = amounts(dig(container, "resources", "requests"))
    limits = amounts(dig(container, "resources", "limits"))
    for each in defaults:
        found = {**amounts(dig(each, "defaultRequest")), **found}
        limits = {**amounts(dig(each, "default")), **limits}
    return {**limits, **found}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
