"""The records of the jobs of the Kubeflow Training Operator.

Source: kubeflow/training-operator v1.9.3, its CRDs, manifests/overlays/standalone and
manifests/base/rbac/service-account.yaml
"""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts import workload_kind as parts

GROUP = "kubeflow.org"
LABELS = parts.PodLabels({}, ("training.kubeflow.org/",))
TRAITS = parts.NO_TRAITS._replace(has_service=True)


def role_pods(document: Body, path: Path) -> tuple[str, int]:
    """Returns the pod set of a role, for example of the workers."""
    return str(path[-2]).lower(), count_or(dig(document, *path[:-1], "replicas"), 1)


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
    for kind, place, field, role, container in (
        ("PyTorchJob", 4, "pytorchReplicaSpecs", "Master", "pytorch"),
        ("TFJob", None, "tfReplicaSpecs", "Worker", "tensorflow"),
        ("JAXJob", None, "jaxReplicaSpecs", "Worker", "jax"),
        ("PaddleJob", None, "paddleReplicaSpecs", "Worker", "paddle"),
        ("XGBoostJob", None, "xgbReplicaSpecs", "Master", "xgboost"),
    )
)  # fmt: skip
