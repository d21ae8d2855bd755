from __future__ import annotations

from gpuc.kubernetes.kueue import GROUP
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import ANY, LOCAL_QUEUE, POD, Reference
from gpuc.verify.subject import Subject

_QUEUE = f"{{{GROUP}/queue-name}}"


@check("REF002", source="Kueue v0.19.2, pkg/controller/core/workload_controller.go (LocalQueue does not exist)")
def unknown_local_queue(subject: Subject) -> Findings:
    """A workload names a LocalQueue that does not exist in the namespace of the workload.

    Kueue suspends the workload and never admits it.
    """
    return subject.unresolved(unknown_local_queue.rule)


ROWS = (
    Reference(ANY, f"metadata.labels.{_QUEUE}", LOCAL_QUEUE),
    Reference(POD, f"metadata.labels.{_QUEUE}", LOCAL_QUEUE),
    Reference("batch/CronJob", f"spec.jobTemplate.metadata.labels.{_QUEUE}", LOCAL_QUEUE),
)
