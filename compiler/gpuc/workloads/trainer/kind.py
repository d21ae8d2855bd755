"""The record of TrainJobs.

Source: kubeflow/trainer v2.2.1 manifests/overlays/manager/kustomization.yaml, manifests/base/rbac/service_account.yaml
"""

from gpuc.kubernetes.controllers import JOBSET
from gpuc.parts import workload_kind as parts

_GROUP = "trainer.kubeflow.org"
_REASON = "its pods come from a runtime: trace the JobSet that the TrainJob creates"
_ACCOUNT = "kubeflow-system/kubeflow-trainer-controller-manager"
KINDS = (
    parts.WorkloadKind(
        group=_GROUP, kind="TrainJob", version="v1alpha1", templates=(), pod_set=None,
        queueing=parts.suspended(f"{_GROUP}/trainjob", 2), child=None,
        controller=parts.Controller("Kubeflow Trainer", _ACCOUNT, (JOBSET,)),
        labels=parts.PodLabels({}, ("trainer.kubeflow.org/",)), start=parts.AT_ONCE,
        traits=parts.NO_TRAITS._replace(is_rehearsed=True, why_not_traced=_REASON),
        sample_fields={"spec": {"runtimeRef": {"name": "torch"}}},
    ),
)  # fmt: skip
