"""Labels and annotations of pod templates with which Kueue cannot start an admitted workload."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.kueue import PODSET_LABEL
from gpuc.manifest.manifest import Manifest
from gpuc.trace.quota import Node
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload

_LOCAL_QUEUE_LABEL, _CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/cluster-queue-name"
_WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
_HASHED_NAMES = ("StatefulSet", "LeaderWorkerSet")
"""The kinds whose pods are a pod group: Kueue generates the names of their pod sets."""


def start_steps(workload: Workload, local_queue: Manifest, cluster_queue: Node) -> Iterator[Step]:
    """Yields a failed step for each label or annotation that Kueue sets, if a pod template has another value.

    Kueue ends a workload with such a conflict when Kueue starts the workload (reason FailedToStart).

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go (getPodSetsInfoFromStatus,
    startJob), pkg/podset/podset.go (Merge, IsPermanent)
    """
    conflicts = [
        conflict for pods in workload.pod_sets for conflict in _conflicts(workload, pods, local_queue, cluster_queue)
    ]
    yield from (step._replace(has_next=True) for step in conflicts[:-1])
    yield from conflicts[-1:]


def _conflicts(workload: Workload, pods: PodSet, local_queue: Manifest, cluster_queue: Node) -> Iterator[Step]:
    set_labels = {_LOCAL_QUEUE_LABEL: local_queue.name, _CLUSTER_QUEUE_LABEL: cluster_queue.name}
    if workload.kind not in _HASHED_NAMES:
        set_labels[PODSET_LABEL] = pods.name
    for key, value in set_labels.items():
        if pods.labels.get(key, value) != value:
            yield _step(pods, ("labels", key), f"label {key} to {value}; the pods have {pods.labels[key]}")
    if _WORKLOAD_ANNOTATION in pods.annotations:
        message = f"annotation {_WORKLOAD_ANNOTATION} to the name of a new Workload; the pods have another value"
        yield _step(pods, ("annotations", _WORKLOAD_ANNOTATION), message)


def _step(pods: PodSet, place: tuple[str, str], what: str) -> Step:
    kind, key = place
    message = f"Kueue cannot start the pods: Kueue sets the {what}"
    field = (*pods.path, "metadata", kind, key)
    return Step(Stage.START, "failed", message, pods=pods.name, fix=f"remove {kind[:-1]} {key}", field=field)
