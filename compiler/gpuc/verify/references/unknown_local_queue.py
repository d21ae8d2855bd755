from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import ANY, POD, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

_KUEUE = "kueue.x-k8s.io"
_QUEUE = f"{{{_KUEUE}/queue-name}}"
_LOCAL = f"{_KUEUE}/LocalQueue"


@check(
    "REF002",
    source="Kueue v0.19.2, pkg/controller/core/workload_controller.go (LocalQueue does not exist)",
)
def unknown_local_queue(subject: Subject) -> Iterator[ObjectFinding]:
    """Work names a LocalQueue that its namespace does not have.

    Kueue suspends the work and never admits it.
    """
    return subject.unresolved(unknown_local_queue.rule)


_FAULT = unknown_local_queue.rule
ROWS = (
    Reference(ANY, f"metadata.labels.{_QUEUE}", _LOCAL, _FAULT),
    Reference(POD, f"metadata.labels.{_QUEUE}", _LOCAL, _FAULT),
    Reference("batch/CronJob", f"spec.jobTemplate.metadata.labels.{_QUEUE}", _LOCAL, _FAULT),
)
"""Every place at which an object names one."""
