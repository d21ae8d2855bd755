"""The jobs of the training operator with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import CONTAINER, DELETE, Case

CASES = [
    Case("PyTorchJob", {}, None),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs": DELETE}),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs.Worker.replica": 2}),
    Case("PyTorchJob", {"spec.nprocPerNode": 8}),
    Case("PyTorchJob", {"spec.runPolicy": {"schedulingPolicy": {"queue": "a"}}}, None),
    Case("PyTorchJob", {"spec.runPolicy": {"schedulingPolicy": {"queue": "b"}}}, None),
]
WEBHOOK_CASES = [
    Case(
        "PyTorchJob",
        {"spec.pytorchReplicaSpecs.Worker.template.spec.containers.0.name": "main"},
        "spec.pytorchReplicaSpecs.Worker.template.spec.containers",
    ),
    Case("PyTorchJob", {"spec.pytorchReplicaSpecs.Master.replicas": 2}),
    Case(
        "PyTorchJob",
        {
            "spec.pytorchReplicaSpecs.Launcher": {
                "template": {"spec": {"containers": [{**CONTAINER, "name": "pytorch"}]}}
            }
        },
    ),
    Case("PyTorchJob", {"spec.runPolicy": {"managedBy": "me"}}, "spec.runPolicy.managedBy"),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
