"""The records of the jobs of the Kubeflow Training Operator.

Source: kubeflow/training-operator v1.9.3, its CRDs, manifests/overlays/standalone and
manifests/base/rbac/service-account.yaml
"""

from __future__ import annotations

from functools import partial

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts.workload_kind import (
    AT_ONCE,
    LABELS,
    Controller,
    PodLabels,
    Queueing,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)

GROUP = "kubeflow.org"


def role_pods(document: Body, path: Path) -> tuple[str, int]:
    """Returns the pod set of a role, for example of the workers."""
    return str(path[-2]).lower(), count_or(dig(document, *path[:-1], "replicas"), 1)


def _sample(kind: str, role: str, container: str, field: str, queue: str) -> Body:
    template = sample_template("Never")
    template["spec"]["containers"][0]["name"] = container
    return sample(f"{GROUP}/v1", kind, queue, {field: {role: {"replicas": 1, "template": template}}})


def _job(kind: str, place: int | None, field: str, role: str, container: str) -> WorkloadKind:
    """Returns the record of a kind.

    Args:
        place: as in Queueing.
        field: the field of the replicas by role.
        role: a role that the kind needs.
        container: the name of the container that the operator expects.
    """
    return WorkloadKind(
        group=GROUP,
        kind=kind,
        version="v1",
        templates=(f"spec.{field}.*.template",),
        pod_set=role_pods,
        further_pods=no_pods,
        queueing=Queueing(
            f"{GROUP}/{kind.lower()}",
            place,
            holds_pods=False,
            is_pod_group=False,
            is_per_replica=False,
            labels=(LABELS,),
        ),
        controller=Controller("the Kubeflow Training Operator", "kubeflow/training-operator", ()),
        child=None,
        labels=PodLabels({}, ("training.kubeflow.org/",)),
        start=AT_ONCE,
        claims=(),
        keeps_data=False,
        is_scaled=False,
        has_service=True,
        is_expanded=False,
        why_not_traced="",
        placement=no_rule,
        sample=partial(_sample, kind, role, container, field),
    )


KINDS = (
    _job("PyTorchJob", 4, "pytorchReplicaSpecs", "Master", "pytorch"),
    _job("TFJob", None, "tfReplicaSpecs", "Worker", "tensorflow"),
    _job("JAXJob", None, "jaxReplicaSpecs", "Worker", "jax"),
    _job("PaddleJob", None, "paddleReplicaSpecs", "Worker", "paddle"),
    _job("XGBoostJob", None, "xgbReplicaSpecs", "Master", "xgboost"),
)
