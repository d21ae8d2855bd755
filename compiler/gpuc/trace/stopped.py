"""Fields of a workload with which its controller starts no pods, or stops them at once."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.validation.cron_schedule import never_fires
from gpuc.objects.object_set import dig
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload

_OWN_CONTROLLERS = ("kubernetes.io/job-controller", "jobset.sigs.k8s.io/jobset-controller")
_DEADLINE = "activeDeadlineSeconds"


def stopped_steps(workload: Workload, *, is_queued: bool) -> Iterator[Step]:
    """Yields a failed step for a workload that starts no pods, although the API server accepts it.

    The reason is a number of 0 pods, a suspended workload that Kueue does not start, a schedule without a day, or a
    deadline of 0.

    Args:
        is_queued: whether Kueue manages the workload, and so sets and removes spec.suspend.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/job/job_controller.go (pastActiveDeadline, controllerName)
    """
    spec = dig(workload.document, "spec") if workload.pod_sets else None
    job = dig(spec, "jobTemplate", "spec") if workload.kind == "CronJob" else spec
    subject = f"{workload.kind} {workload.name}"
    if not workload.pod_sets or not workload.copies:
        yield Step(Stage.SUSPENDED, "failed", "the number of pods of the workload is 0")
    elif dig(spec, "suspend") is True and (workload.kind == "CronJob" or not is_queued):
        message = f"spec.suspend of {subject} is true, so the workload starts no pods"
        yield Step(Stage.SUSPENDED, "failed", message, fix="remove spec.suspend", field=("spec", "suspend"))
    elif workload.kind == "CronJob" and never_fires(str(dig(spec, "schedule"))):
        message = f"schedule {dig(spec, 'schedule')} has no day, so the CronJob starts no Jobs"
        yield Step(Stage.SUSPENDED, "failed", message, field=("spec", "schedule"))
    elif workload.kind in ("Job", "CronJob") and dig(job, _DEADLINE) == 0:
        message = f"{_DEADLINE} is 0, so the Job controller ends the Job when it starts"
        yield Step(Stage.SUSPENDED, "failed", message, fix=f"remove {_DEADLINE}", field=("spec", _DEADLINE))
    manager = dig(job, "managedBy")
    if isinstance(manager, str) and manager not in _OWN_CONTROLLERS:
        message = f"managedBy gives {subject} to controller {manager}, which gpuc does not know"
        yield Step(Stage.SUSPENDED, "unknown", message, fix="remove managedBy", field=("spec", "managedBy"))
