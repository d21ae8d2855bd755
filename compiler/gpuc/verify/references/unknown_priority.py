from __future__ import annotations

from gpuc.kubernetes.kueue import GROUP
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import ANY, POD, PRIORITY_CLASS, Reference
from gpuc.verify.subject import Subject

_PRIORITY = f"{{{GROUP}/priority-class}}"


@check("REF003", source="Kueue v0.19.2, pkg/util/priority/priority.go; kubernetes v1.35, plugin/pkg/admission/priority")
def unknown_priority(subject: Subject) -> Findings:
    """A workload names a priority class that does not exist.

    Without the WorkloadPriorityClass, Kueue creates no Workload. Without the PriorityClass, the API server refuses the
    pods.
    """
    return subject.unresolved(unknown_priority.rule)


ROWS = (
    Reference(ANY, f"metadata.labels.{_PRIORITY}", PRIORITY_CLASS),
    Reference(POD, f"metadata.labels.{_PRIORITY}", PRIORITY_CLASS),
    Reference("batch/CronJob", f"spec.jobTemplate.metadata.labels.{_PRIORITY}", PRIORITY_CLASS),
    Reference(POD, "spec.priorityClassName", "scheduling.k8s.io/PriorityClass"),
)
