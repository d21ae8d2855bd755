"""Jobs of Kubeflow's training operator: PyTorchJob, TFJob, XGBoostJob, JAXJob, PaddleJob.

Kubeflow has no webhook for MPIJobs. The operators create the pods later, and the API server then checks the templates.

Source: kubeflow/training-operator v1.9.3 pkg/webhooks, pkg/common/util/webhooks.go, pkg/apis/kubeflow.org/v1
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label_1035,
    invalid,
    missing,
    number,
    one_of,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs

CHECK = "webhook of the training operator"
_MANAGERS = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")


class _Kind(NamedTuple):
    """What the webhook requires of one kind."""

    field: str
    container: str
    """The name of the container that every replica must have."""
    roles: tuple[str, ...] = ()
    """The allowed roles; empty if the webhook allows every role."""
    needs_master: bool = False


_KINDS = {
    "PyTorchJob": _Kind("pytorchReplicaSpecs", "pytorch", ("Master", "Worker")),
    "TFJob": _Kind("tfReplicaSpecs", "tensorflow"),
    "XGBoostJob": _Kind("xgbReplicaSpecs", "xgboost", ("Master", "Worker"), needs_master=True),
    "JAXJob": _Kind("jaxReplicaSpecs", "jax", ("Worker",)),
    "PaddleJob": _Kind("paddleReplicaSpecs", "paddle", ("Master", "Worker")),
}


def training_job(document: Any) -> Problems:
    """Checks a job of the training operator."""
    replicas: Path = ("spec", _KINDS[dig(document, "kind")].field, "Worker", "replicas")  # the subresource scale
    yield from at_least(replicas, dig(document, *replicas), 0)
    for problem in _training_job(document):
        yield problem._replace(check=CHECK)


def _training_job(document: Any) -> Problems:
    kind, spec = _KINDS[dig(document, "kind")], dig(document, "spec")
    yield from dns_label_1035(("metadata", "name"), dig(document, "metadata", "name"))
    manager: Path = ("spec", "runPolicy", "managedBy")
    yield from one_of(manager, dig(document, *manager), _MANAGERS)
    replicas = dict(pairs(dig(spec, kind.field)))
    if dig(spec, kind.field) is None:
        yield missing(("spec", kind.field))
    for role, replica in replicas.items():
        yield from _replica(("spec", kind.field, role), role, replica, kind)
    if kind.needs_master and "Master" not in replicas:
        yield missing(("spec", kind.field, "Master"))
    if kind.field == "tfReplicaSpecs" and {"Chief", "Master"} <= replicas.keys():
        yield Problem(("spec", kind.field), "the roles Chief and Master are both set; only one is allowed")
    if dig(spec, "elasticPolicy") is not None:
        if "Worker" not in replicas:
            yield missing(("spec", kind.field, "Worker"), "elasticPolicy needs workers")
        if dig(spec, "elasticPolicy", "nProcPerNode") is not None and dig(spec, "nprocPerNode") is not None:
            yield Problem(("spec", "elasticPolicy", "nProcPerNode"), "nProcPerNode and nprocPerNode are both set")


def _replica(path: Path, role: str, replica: Any, kind: _Kind) -> Problems:
    if kind.roles and role not in kind.roles:
        yield Problem(path, f"there is no role {role}; expected {' or '.join(kind.roles)}")
    where: Path = (*path, "template", "spec", "containers")
    containers = [container for _, container in items(dig(replica, *where[len(path) :]))]
    for index, container in enumerate(containers):
        if not text(dig(container, "image")):
            yield missing((*where, index, "image"))
    if kind.container not in {text(dig(container, "name")) for container in containers}:
        fix = f"write name: {kind.container}" if len(containers) == 1 else ""
        yield Problem(where, f"one container must have the name {kind.container}", fix)
    yield from _count((*path, "replicas"), role, dig(replica, "replicas"), kind)


def _count(path: Path, role: str, replicas: Any, kind: _Kind) -> Problems:
    """Checks the number of replicas, which only the webhooks of PyTorchJob and XGBoostJob do."""
    if kind.container not in ("pytorch", "xgboost"):
        return
    count = number(replicas)
    if role == "Master" and count != 1:
        yield invalid(path, replicas, "1 for the role Master", "write replicas: 1")
    elif role != "Master" and kind.container == "pytorch" and count is not None and count < 1:
        yield invalid(path, count, "1 or more")
