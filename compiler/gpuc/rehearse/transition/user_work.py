"""The work of users that runs before a change: the objects of --workloads, also those of a running cluster."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass

from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import dig, items, pairs
from gpuc.rehearse.client import ApiError, Client, Object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.transition.filling import Filling

OBSERVED_KINDS = ("Job", "Deployment", "StatefulSet")
"""The kinds whose controllers run, so that their objects get pods."""
_GENERATED = {
    *("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "generation", "ownerReferences"),
}
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
    """All other objects, which are created first. Work that is not valid is here too: the API server says why."""


def user_work(documents: Iterable[Object], cluster: Cluster) -> UserWork:
    """Returns the objects of users as they were written. Objects of controllers, such as ReplicaSets, are left out."""
    queues = {part.name: queue.name for queue in cluster.queues for part in queue.cluster_queues}
    tenants = {namespace.name: tenant.name for tenant, namespace in cluster.namespaces}
    work, others = [], []
    for given in documents:
        if any(dig(reference, "controller") for _, reference in items(given["metadata"].get("ownerReferences"))):
            continue
        document = as_written(given)
        pods = _pods_of(document)
        if pods is None:
            others.append(document)
            continue
        tenant = tenants.get(str(document["metadata"]["namespace"]), "")
        queue = queues.get(str(dig(document, "metadata", "labels", QUEUE_LABEL)), "")
        pool = dig(document, "spec", "template", "spec", "nodeSelector", POOL_LABEL)
        work.append(Filling(document, tenant, queue, str(pool or ""), pods))
    return UserWork(tuple(work), tuple(others))


def as_written(given: Object) -> Object:
    """Returns an object without the fields that the API server sets. The pods of Jobs run until their deletion."""
    document = without_generated(given)
    if document["kind"] in OBSERVED_KINDS:
        document["metadata"].setdefault("namespace", "default")
    template = dig(document, "spec", "template")
    if document["kind"] == "Job" and isinstance(template, dict):
        if not document["spec"].get("manualSelector"):
            document["spec"].pop("selector", None)
        metadata = {key: value for key, value in pairs(template.get("metadata")) if key != "creationTimestamp"}
        labels = {key: value for key, value in pairs(metadata.get("labels")) if key not in _JOB_LABELS}
        annotations = dict(pairs(metadata.get("annotations"))) | HOLD
        template["metadata"] = metadata | {"labels": labels, "annotations": annotations}
    return document


def without_generated(given: Object) -> Object:
    """Returns a copy of an object without its status and without the metadata that the API server sets."""
    document = deepcopy({key: value for key, value in given.items() if key != "status"})
    document["metadata"] = {key: value for key, value in document["metadata"].items() if key not in _GENERATED}
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


def _pods_of(document: Object) -> int | None:
    """Returns the number of pods that the controller of an object starts at the same time.

    The result is None for an object without a controller that runs, and for a number that is not valid.
    """
    spec = document.get("spec")
    if document["kind"] not in OBSERVED_KINDS or not isinstance(spec, dict):
        return None
    if document["kind"] != "Job":
        numbers = [spec.get("replicas", 1)]
    else:
        parallelism = spec.get("parallelism", 1)
        numbers = [parallelism, spec.get("completions") or parallelism]
    return min(numbers) if all(isinstance(number, int) for number in numbers) else None
