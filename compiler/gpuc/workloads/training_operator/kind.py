"""What gpuc knows about the jobs of the Kubeflow Training Operator.

Source: kubeflow/training-operator v1.9.3, its CRDs, manifests/overlays/standalone and
manifests/base/rbac/service-account.yaml
"""

from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts import workload_kind as parts

GROUP = "kubeflow.org"
LABELS = parts.PodLabels({}, ("training.kubeflow.org/",))
TRAITS = parts.NO_TRAITS._replace(has_service=True)


def role_pods(document: Body, path: Path) -> tuple[str, int]:
    """Returns the name and the number of pods of a role, for example ("worker", 4)."""
    return str(path[-2]).lower(), count_or(dig(document, *path[:-1], "replicas"), 1)


class TrainingJob(NamedTuple):
    """The properties of a kind of jobs, such as PyTorchJob, that differ from the other kinds of the operator."""

    replicas: str
    """The field of spec with the replicas by role."""
    container: str
    """The name of the container that every replica must have."""
    roles: tuple[str, ...] | None
    """The allowed roles; None if the webhook allows every role."""
    role: str
    """The role in the sample."""
    place: int | None = None
    """The place of the integration of Kueue; None for kinds that the rehearsal leaves out."""


JOBS = {
    "PyTorchJob": TrainingJob("pytorchReplicaSpecs", "pytorch", ("Master", "Worker"), "Master", 4),
    "TFJob": TrainingJob("tfReplicaSpecs", "tensorflow", None, "Worker"),
    "JAXJob": TrainingJob("jaxReplicaSpecs", "jax", ("Worker",), "Worker"),
    "PaddleJob": TrainingJob("paddleReplicaSpecs", "paddle", ("Master", "Worker"), "Worker"),
    "XGBoostJob": TrainingJob("xgbReplicaSpecs", "xgboost", ("Master", "Worker"), "Master"),
}
KINDS = tuple(
    parts.WorkloadKind(
        group=GROUP, kind=kind, version="v1", templates=(f"spec.{field}.*.template",), pod_set=role_pods,
        queueing=parts.suspended(f"{GROUP}/{kind.lower()}", place), child=None, labels=LABELS, start=parts.AT_ONCE,
        controller=parts.Controller("the Kubeflow Training Operator", "kubeflow/training-operator", ()),
        traits=TRAITS._replace(is_rehearsed=place is not None),
        sample_fields={
            "spec": {field: {role: {"replicas": 1, "template": parts.sample_template("Never", name=container)}}}
        },
    )
    for kind, (field, container, _, role, place) in JOBS.items()
)  # fmt: skip
