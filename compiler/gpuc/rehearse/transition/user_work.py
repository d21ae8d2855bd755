"""The work of users that runs before a change: the objects of --workloads, also those of a running cluster."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass

from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL, QUEUE_LABEL
from gpuc.rehearse.client import ApiError, Client, Object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.transition.filling import Filling

OBSERVED_KINDS = ("Job", "Deployment", "StatefulSet")
"""The kinds whose controllers run, so that their objects get pods."""
_GENERATED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "generation",
    "ownerReferences",
)
"""Metadata that the API server sets. It refuses most of it in a new object."""
_JOB_LABELS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
"""Labels that the API server adds to the pods of a Job.

Source: k8s.io/kubernetes v1.35.4 pkg/registry/batch/job/strategy.go (generateSelector)
"""


@dataclass(frozen=True)
class UserWork:
    """The objects of users."""

    work: tuple[Filling, ...]
    """The objects that get pods."""
    others: tuple[Object, ...]
    """All other objects, which are created first."""


def user_work(documents: Iterable[Object], cluster: Cluster) -> UserWork:
    """Returns the objects of users as they were written. Objects of controllers, such as ReplicaSets, are left out."""
    queues = {part.name: queue.name for queue in cluster.queues for part in queue.cluster_queues}
    tenants = {namespace.name: tenant.name for tenant, namespace in cluster.namespaces}
    work, others = [], []
    for given in documents:
        if any(reference.get("controller") for reference in given["metadata"].get("ownerReferences", ())):
            continue
        document = as_written(given)
        namespace = document["metadata"].get("namespace", "")
        label = document["metadata"].get("labels", {}).get(QUEUE_LABEL, "")
        if document["kind"] not in OBSERVED_KINDS:
            others.append(document)
            continue
        pod = document["spec"].get("template", {}).get("spec", {})
        pool = pod.get("nodeSelector", {}).get(POOL_LABEL, "")
        filling = Filling(document, tenants.get(namespace, ""), queues.get(label, ""), pool, _pods_of(document))
        work.append(filling)
    return UserWork(tuple(work), tuple(others))


def as_written(given: Object) -> Object:
    """Returns an object without the fields that the API server sets. The pods of Jobs run until their deletion."""
    document = deepcopy({key: value for key, value in given.items() if key != "status"})
    document["metadata"] = {key: value for key, value in document["metadata"].items() if key not in _GENERATED}
    if document["kind"] in OBSERVED_KINDS:
        document["metadata"].setdefault("namespace", "default")
    if document["kind"] == "Job":
        spec = document.setdefault("spec", {})
        if not spec.get("manualSelector"):
            spec.pop("selector", None)
        metadata = spec.setdefault("template", {}).setdefault("metadata", {})
        metadata["labels"] = {key: value for key, value in metadata.get("labels", {}).items() if key not in _JOB_LABELS}
        metadata["annotations"] = metadata.get("annotations", {}) | HOLD
        metadata.pop("creationTimestamp", None)
    return document


def create_others(client: Client, documents: Iterable[Object]) -> list[str]:
    """Creates the objects without pods; returns why the API server refuses objects."""
    problems = []
    for document in documents:
        try:
            client.create(document)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                problems.append(f"{document['kind']} {document['metadata'].get('name', '')} is not created: {error}")
    return problems


def _pods_of(document: Object) -> int:
    """Returns the number of pods that the controller of an object starts at the same time."""
    spec = document["spec"]
    if document["kind"] != "Job":
        return int(spec.get("replicas", 1))
    parallelism = int(spec.get("parallelism", 1))
    return min(parallelism, int(spec.get("completions") or parallelism))
