"""What gpuc knows about Jobs and CronJobs.

Source: k8s.io/api v0.35 batch/v1; k8s.io/kubernetes v1.35.4 pkg/registry/batch/job/strategy.go (labels),
pkg/controller/job/job_controller.go, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.controllers import JOB_CONTROLLER, JOB_NAME
from gpuc.kubernetes.kueue import BATCH_JOB, MIN_PARALLELISM
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts import workload_kind as parts

_NUMBER = re.compile(r"[0-9]{1,9}")
_JOB_TEMPLATE = ("spec", "jobTemplate")
_MANAGERS = ("kubernetes.io/job-controller",)


def parallel_pods(job: Any) -> int:
    """Returns how many pods of a Job run at the same time, from the spec of the Job."""
    parallel = count_or(dig(job, "parallelism"), 1)
    return min(parallel, count_or(dig(job, "completions"), parallel))


def _of_job(document: Body, _: Path) -> tuple[str, int]:
    """Returns the pod set of a Job: Kueue admits a Job with the annotation also with fewer pods."""
    minimum, parallel = dig(document, "metadata", "annotations", MIN_PARALLELISM), parallel_pods(document.get("spec"))
    if isinstance(minimum, str) and _NUMBER.fullmatch(minimum):
        parallel = min(int(minimum), parallel)
    return "main", parallel


def _jobs(document: Body) -> Iterator[parts.ChildTemplate]:
    yield parts.ChildTemplate("", dig(document, *_JOB_TEMPLATE), {}, _JOB_TEMPLATE)


_SAMPLE_FIELDS = {"spec": {"template": parts.sample_template("Never")}}
_JOB = parts.WorkloadKind(
    group="batch", kind="Job", version="v1", templates=("spec.template",), pod_set=_of_job,
    queueing=parts.suspended(BATCH_JOB, 0), controller=parts.Controller("", JOB_CONTROLLER, ()), child=None,
    labels=parts.PodLabels(
        dict.fromkeys(JOB_NAME, parts.name_of), ("batch.kubernetes.io/", "controller-", "job-name")
    ),
    start=parts.AT_ONCE._replace(managers=_MANAGERS),
    traits=parts.NO_TRAITS._replace(is_expanded=True), sample_fields=_SAMPLE_FIELDS,
)  # fmt: skip
KINDS = (
    _JOB,
    replace(
        _JOB, kind="CronJob", templates=("spec.jobTemplate.spec.template",),
        pod_set=lambda document, _: ("main", parallel_pods(dig(document, *_JOB_TEMPLATE, "spec"))),
        queueing=parts.suspended(BATCH_JOB, None)._replace(labels=((*_JOB_TEMPLATE, *parts.LABELS),)),
        controller=parts.Controller("", "kube-system/cronjob-controller", ()),
        child=parts.Child(("batch", "Job"), "-00000000", _jobs), labels=parts.NO_LABELS,
        start=parts.Start((*_JOB_TEMPLATE, "spec"), schedule=("spec", "schedule"), managers=_MANAGERS),
        sample_fields={"spec": {"schedule": "0 3 * * *", "jobTemplate": _SAMPLE_FIELDS}},
    ),
)  # fmt: skip
