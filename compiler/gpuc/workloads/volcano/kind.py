"""What gpuc knows about the Job of Volcano. Kueue v0.19.2 does not manage this kind.

Source: volcano-sh/volcano v1.15.1 staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/{job,labels}.go,
pkg/controllers/job/job_controller_util.go (createJobPod), pkg/controllers/job/plugins/svc/svc.go (Service),
pkg/webhooks/admission/jobs/mutate/mutate_job.go (default names), installer/volcano-development.yaml (ServiceAccount)
"""

from gpuc.objects.object_set import dig
from gpuc.parts import workload_kind as parts

_GROUP = "batch.volcano.sh"
_REASON = "the scheduler of Volcano starts its pods when its Queue has room, and gpuc does not evaluate this scheduler"


_SAMPLE_TASK = {"name": "worker", "replicas": 2, "template": parts.sample_template("Never")}
KINDS = (
    parts.WorkloadKind(
        group=_GROUP, kind="Job", version="v1alpha1", templates=("spec.tasks[].template",), pod_set=None,
        queueing=parts.NOT_QUEUED, controller=parts.Controller("Volcano", "volcano-system/volcano-controllers", ()),
        child=None,
        labels=parts.PodLabels(
            {
                "volcano.sh/job-name": parts.name_of,
                "volcano.sh/task-spec": lambda job, path: str(dig(job, *path[:3], "name") or f"default{path[2]}"),
                "volcano.sh/queue-name": lambda job, _: str(dig(job, "spec", "queue") or "default"),
            },
            ("volcano.sh/",),
        ),
        start=parts.AT_ONCE, traits=parts.NO_TRAITS._replace(has_service=True, why_not_traced=_REASON),
        sample_fields={"spec": {"tasks": [_SAMPLE_TASK]}},
    ),
)  # fmt: skip
