"""What gpuc knows about Pods that no controller has created.

Source: k8s.io/api v0.35 core/v1; kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/pod/pod_controller.go
"""

from gpuc.kubernetes.kueue import POD, POD_GROUP_TOTAL
from gpuc.objects.object_set import dig
from gpuc.parts import workload_kind as parts

_TOTAL = ("metadata", "annotations", POD_GROUP_TOTAL)
KINDS = (
    parts.WorkloadKind(
        group="", kind="Pod", version="v1", templates=("",), pod_set=lambda _, __: ("main", 1),
        queueing=parts.suspended(POD, 8)._replace(holds_pods=True), controller=None, child=None, labels=parts.NO_LABELS,
        start=parts.AT_ONCE, traits=parts.NO_TRAITS._replace(placement=lambda document, _, __: (
            (_TOTAL, "the other pods of the group") if dig(document, *_TOTAL) not in (None, "1") else None
        )),
        sample_fields={"spec": parts.sample_template("Never")["spec"]},
    ),
)  # fmt: skip
