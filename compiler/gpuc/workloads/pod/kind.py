"""What gpuc knows about Pods that no controller has created.

Source: k8s.io/api v0.35 core/v1
"""

from gpuc.kubernetes.kueue import POD
from gpuc.parts import workload_kind as parts

KINDS = (
    parts.WorkloadKind(
        group="", kind="Pod", version="v1", templates=("",), pod_set=lambda _, __: ("main", 1),
        queueing=parts.suspended(POD, 8)._replace(holds_pods=True), controller=None, child=None, labels=parts.NO_LABELS,
        start=parts.AT_ONCE, traits=parts.NO_TRAITS,
        sample_fields={"spec": parts.sample_template("Never")["spec"]},
    ),
)  # fmt: skip
