"""What gpuc knows about TrainJobs and their runtimes.

Source: kubeflow/trainer v2.3.0 manifests/overlays/manager/kustomization.yaml, manifests/base/rbac/service_account.yaml
"""

from msgspec.structs import replace

from gpuc.kubernetes.controllers import JOBSET
from gpuc.parts import workload_kind as parts
from gpuc.workloads.trainer.resolved import GROUP, of_runtime, resolved

_REASON = "its pods come from a runtime, which is not in the input"
_ACCOUNT = "kubeflow-system/kubeflow-trainer-controller-manager"
_RUNTIME = parts.WorkloadKind(
    group=GROUP,
    kind="TrainingRuntime",
    version="v1alpha1",
    templates=("spec.template.spec.replicatedJobs[].template.spec.template",),
    pod_set=None,
    queueing=parts.NOT_QUEUED,
    controller=None,
    child=None,
    labels=parts.NO_LABELS,
    start=parts.AT_ONCE,
    traits=parts.NO_TRAITS._replace(problems=of_runtime),
    sample_fields={
        "spec": {
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "node",
                            "template": {"spec": {"template": parts.sample_template("Never", name="node")}},
                        },
                    ]
                }
            }
        }
    },
)
"""The record of runtimes. Their pods are pods of the JobSets of TrainJobs."""
KINDS = (
    _RUNTIME,
    replace(_RUNTIME, kind="ClusterTrainingRuntime"),
    parts.WorkloadKind(
        group=GROUP, kind="TrainJob", version="v1alpha1", templates=(), pod_set=None,
        queueing=parts.suspended(f"{GROUP}/trainjob", 2), child=None,
        controller=parts.Controller("Kubeflow Trainer", _ACCOUNT, (JOBSET,)),
        labels=parts.PodLabels({}, ("trainer.kubeflow.org/",)), start=parts.AT_ONCE,
        traits=parts.NO_TRAITS._replace(
            is_rehearsed=True, has_service=True, why_not_traced=_REASON, resolved=resolved
        ),
        sample_fields={"spec": {"runtimeRef": {"name": "torch"}}},
    ),
)  # fmt: skip
