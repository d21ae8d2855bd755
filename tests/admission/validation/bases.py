"""Small correct objects, and copies of them with single changes."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]


class _Delete:
    def __repr__(self) -> str:
        return "(removed)"


DELETE = _Delete()
"""The value of a field that a change removes."""
CONTAINER: Object = {"name": "main", "image": "registry.example/train:1.0"}
POD: Object = {"containers": [CONTAINER]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "a"}}, "spec": POD}
_SELECTOR = {"matchLabels": {"app": "a"}}
_JOB_TEMPLATE: Object = {**TEMPLATE, "spec": {**POD, "restartPolicy": "Never"}}
_REPLICA: Object = {"replicas": 1, "template": {"spec": {"containers": [{**CONTAINER, "name": "pytorch"}]}}}
_HEAD: Object = {"rayStartParams": {}, "template": {"spec": {"containers": [{**CONTAINER, "name": "head"}]}}}
_GROUP: Object = {**_HEAD, "groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 2}
_CLUSTER: Object = {"headGroupSpec": _HEAD, "workerGroupSpecs": [_GROUP]}


def _object(api: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


BASES: dict[str, Object] = {
    "Pod": _object("v1", "Pod", POD),
    "Job": _object("batch/v1", "Job", {"template": _JOB_TEMPLATE}),
    "CronJob": _object(
        "batch/v1", "CronJob", {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": _JOB_TEMPLATE}}}
    ),
    "Deployment": _object("apps/v1", "Deployment", {"selector": _SELECTOR, "template": TEMPLATE}),
    "StatefulSet": _object("apps/v1", "StatefulSet", {"selector": _SELECTOR, "template": TEMPLATE, "serviceName": "a"}),
    "ReplicaSet": _object("apps/v1", "ReplicaSet", {"selector": _SELECTOR, "template": TEMPLATE}),
    "DaemonSet": _object("apps/v1", "DaemonSet", {"selector": _SELECTOR, "template": TEMPLATE}),
    "JobSet": _object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 2,
                    "template": {"spec": {"parallelism": 2, "completions": 2, "template": TEMPLATE}},
                }
            ]
        },
    ),
    "LeaderWorkerSet": _object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}},
    ),
    "RayCluster": _object("ray.io/v1", "RayCluster", _CLUSTER),
    "RayJob": _object(
        "ray.io/v1", "RayJob", {"entrypoint": "run", "shutdownAfterJobFinishes": True, "rayClusterSpec": _CLUSTER}
    ),
    "PyTorchJob": _object(
        "kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Master": _REPLICA, "Worker": _REPLICA}}
    ),
    "MPIJob": _object(
        "kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": _REPLICA, "Worker": _REPLICA}}
    ),
    "TrainJob": _object("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "torch"}}),
    "batch.volcano.sh/Job": _object(
        "batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "worker", "replicas": 2, "template": TEMPLATE}]}
    ),
}
"""The objects by kind; with the API group if Kubernetes has a kind with the same name."""
Steps = tuple[str | int, ...]


class Case(NamedTuple):
    """An object with changes, and the field for which the API server refuses it."""

    kind: str
    changes: dict[str, Any]
    """Values by path. A path has dots between its steps; "|" if a step contains dots."""
    field: str | None = ""
    """The path of the refused field; empty for the path of the first change; None if the object is allowed."""

    def document(self) -> Object:
        """Returns the changed object."""
        document = deepcopy(BASES[self.kind])
        for path, value in self.changes.items():
            put(document, steps(path), deepcopy(value) if value is not DELETE else DELETE)
        return document

    def expected(self) -> Steps | None:
        """Returns the path of the refused field; None if the object is allowed."""
        if self.field is None:
            return None
        return steps(self.field or next(iter(self.changes)))

    def __str__(self) -> str:
        return f"{self.kind} {', '.join(f'{path}={str(value)[:40]}' for path, value in self.changes.items())}"


def steps(path: str) -> Steps:
    """Returns the steps of a path: numbers are indexes of lists."""
    return tuple(int(step) if step.isdigit() else step for step in path.split("|" if "|" in path else "."))


def put(document: Any, path: Steps, value: Any) -> None:
    """Sets the value at a path; missing maps and lists are created. DELETE removes the value."""
    for step, following in pairwise(path):
        if isinstance(document, list):
            while isinstance(step, int) and len(document) <= step:
                document.append({})
            document = document[step]
        else:
            document = document.setdefault(step, [] if isinstance(following, int) else {})
    if value is DELETE:
        del document[path[-1]]
    elif isinstance(document, list) and path[-1] == len(document):
        document.append(value)
    else:
        document[path[-1]] = value


class _Loader(yaml.CSafeLoader):
    """Reads case files: `!removed ''` removes a field, and `!repeat [a, 64]` is a long text."""


_Loader.add_constructor("!removed", lambda loader, node: DELETE)
_Loader.add_constructor("!repeat", lambda loader, node: node.value[0].value * int(node.value[1].value))


def read_cases(name: str) -> tuple[list[Case], list[Case]]:
    """Returns the cases of a file beside this module, and the cases with fields that gpuc does not check.

    Each chapter of the file has the changes of refused objects by refused field, and the changes of allowed objects.
    """
    chapters = yaml.load((Path(__file__).parent / name).read_text(encoding="utf-8"), Loader=_Loader)
    kind, unchecked = chapters.pop("kind"), chapters.pop("unchecked", {})

    def at_fields(fields: dict[str, list[Object]]) -> list[Case]:
        return [Case(kind, changes, field) for field, rows in fields.items() for changes in rows]

    checked = [case for chapter in chapters.values() for case in at_fields(chapter.get("refused", {}))]
    checked += [Case(kind, changes, None) for chapter in chapters.values() for changes in chapter.get("allowed", ())]
    return checked, at_fields(unchecked)
