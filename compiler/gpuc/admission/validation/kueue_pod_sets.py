"""The pod sets whose topology annotations Kueue's webhooks check.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs, PodSets of each kind
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuc.admission.validation.problem import number
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs

_REPLICAS = {
    "JAXJob": "jaxReplicaSpecs", "MPIJob": "mpiReplicaSpecs", "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs",
}  # fmt: skip


class PodSetTemplate(NamedTuple):
    """The metadata of a pod template that Kueue reads."""

    path: Path
    """The path of the metadata in the document."""
    metadata: Any
    pods: int | None
    """The number of pods of the pod set; None if Kueue does not compare a number."""


def pod_set_templates(document: Any) -> Iterator[PodSetTemplate]:
    """Yields the metadata of the pod templates of an object whose annotations Kueue's webhook checks."""
    kind, spec = dig(document, "kind"), dig(document, "spec")
    match kind:
        case "Pod":
            yield PodSetTemplate(("metadata",), dig(document, "metadata"), None)
        case "Job":
            yield _template(document, ("spec", "template"), pods_of_job(spec))
        case "JobSet":
            for index, job in items(dig(spec, "replicatedJobs")):
                count = _count(dig(job, "replicas")) * pods_of_job(dig(job, "template", "spec"))
                path: Path = ("spec", "replicatedJobs", index, "template", "spec", "template")
                yield _template(document, path, count)
        case "LeaderWorkerSet":
            yield from _leader_worker(document)
        case "RayJob" | "RayCluster":
            yield from _ray(document, ("spec", "rayClusterSpec") if kind == "RayJob" else ("spec",))
        case _ if kind in _REPLICAS:
            for role, replica in pairs(dig(spec, _REPLICAS[kind])):
                path = ("spec", _REPLICAS[kind], role, "template")
                yield _template(document, path, _count(dig(replica, "replicas")))


def pods_of_job(spec: Any) -> int:
    """Returns the number of pods of a Job's spec that run at the same time."""
    parallelism, completions = _count(dig(spec, "parallelism")), number(dig(spec, "completions"))
    return parallelism if completions is None else min(parallelism, completions)


def _ray(document: Any, cluster: Path) -> Iterator[PodSetTemplate]:
    if dig(document, *cluster) is not None:
        yield _template(document, (*cluster, "headGroupSpec", "template"), 1)
    for index, group in items(dig(document, *cluster, "workerGroupSpecs")):
        count = _count(dig(group, "replicas")) * _count(dig(group, "numOfHosts"))
        yield _template(document, (*cluster, "workerGroupSpecs", index, "template"), count)


def _leader_worker(document: Any) -> Iterator[PodSetTemplate]:
    path: Path = ("spec", "leaderWorkerTemplate")
    size, leader = _count(dig(document, *path, "size")), dig(document, *path, "leaderTemplate")
    if leader is not None:
        yield _template(document, (*path, "leaderTemplate"), 1)
    yield _template(document, (*path, "workerTemplate"), size - (leader is not None))


def _template(document: Any, path: Path, count: int) -> PodSetTemplate:
    return PodSetTemplate((*path, "metadata"), dig(document, *path, "metadata"), count)


def _count(value: Any) -> int:
    count = number(value)
    return 1 if count is None else count
