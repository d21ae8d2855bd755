"""The record of TrainJobs.

Source: kubeflow/trainer v2.2.1 manifests/overlays/manager/kustomization.yaml, manifests/base/rbac/service_account.yaml
"""

from __future__ import annotations

from gpuc.kubernetes.controllers import JOBSET
from gpuc.manifest.manifest import Body
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
)

_GROUP = "trainer.kubeflow.org"


def _sample(queue: str) -> Body:
    return sample(f"{_GROUP}/v1alpha1", "TrainJob", queue, {"runtimeRef": {"name": "torch-distributed"}})


KINDS = (
    WorkloadKind(
        group=_GROUP,
        kind="TrainJob",
        version="v1alpha1",
        templates=(),
        pod_set=None,
        further_pods=no_pods,
        queueing=Queueing(
            f"{_GROUP}/trainjob", 2, holds_pods=False, is_pod_group=False, is_per_replica=False, labels=(LABELS,)
        ),
        controller=Controller("Kubeflow Trainer", "kubeflow-system/kubeflow-trainer-controller-manager", (JOBSET,)),
        child=None,
        labels=PodLabels({}, ("trainer.kubeflow.org/",)),
        start=AT_ONCE,
        claims=(),
        keeps_data=False,
        is_scaled=False,
        has_service=False,
        is_expanded=False,
        why_not_traced="its pods come from a runtime: trace the JobSet that the TrainJob creates",
        placement=no_rule,
        sample=_sample,
    ),
)
