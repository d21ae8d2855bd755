"""Checks of the webhook of the training operator that are more than a row of a table.

Source: kubeflow/training-operator v1.9.3 pkg/webhooks, pkg/common/util/webhooks.go
"""

from __future__ import annotations

from typing import NamedTuple

from gpuc.admission.validation.field import Field, Problems, text


class _Kind(NamedTuple):
    """What the webhook requires of a kind."""

    replicas: str
    """The field of spec with the replicas by role."""
    container: str
    """The name of the container that every replica must have."""
    roles: tuple[str, ...] | None
    """The allowed roles; None if the webhook allows every role."""


_KINDS = {
    "JAXJob": _Kind("jaxReplicaSpecs", "jax", ("Worker",)),
    "PaddleJob": _Kind("paddleReplicaSpecs", "paddle", ("Master", "Worker")),
    "PyTorchJob": _Kind("pytorchReplicaSpecs", "pytorch", ("Master", "Worker")),
    "TFJob": _Kind("tfReplicaSpecs", "tensorflow", None),
    "XGBoostJob": _Kind("xgbReplicaSpecs", "xgboost", ("Master", "Worker")),
}


def _replica_specs(document: Field) -> Problems:
    specs = document.at("spec", _KINDS[document.get("kind")].replicas)
    if specs.value is None:
        yield specs.missing()


def _role_and_container(replica: Field) -> Problems:
    _, container, roles = _KINDS[replica.root.get("kind")]
    if roles and replica.name not in roles:
        yield replica.problem(f"there is no role {replica.name}; expected {' or '.join(roles)}")
    containers = replica.at("template", "spec", "containers")
    names = [text(row.get("name")) for row in containers.rows()]
    if container not in names:
        fix = f"write name: {container}" if len(names) == 1 else ""
        yield containers.problem(f"one container must have the name {container}", fix)
