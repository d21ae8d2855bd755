"""What gpuc knows about JobSets.

Source: the CRDs of kubernetes-sigs/jobset v0.12.0, pkg/controllers/jobset_controller.go (labels, managedBy),
pkg/webhooks/pod_webhook.go (setExclusiveAffinities, setNodeSelector), config/default/kustomization.yaml. The chart
names the ServiceAccount jobset-controller.
"""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.controllers import JOBSET, JOBSET_NAME, JOBSET_TOPOLOGY
from gpuc.kubernetes.node_pool import HOSTNAME, ZONE, normal
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig, items
from gpuc.parts import workload_kind as parts
from gpuc.workloads.batch.kind import parallel_pods

_GROUP = "jobset.x-k8s.io"
_REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
_BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    job = dig(document, *path[:3])
    return str(dig(job, "name")), count_or(dig(job, "replicas"), 1) * parallel_pods(dig(job, "template", "spec"))


def _jobs(document: Body) -> Iterator[parts.ChildTemplate]:
    """Yields the first Job of every replicated job."""
    for index, job in items(dig(document, "spec", "replicatedJobs")):
        name = str(dig(job, "name"))
        labels = {JOBSET_NAME: parts.name_of(document), _REPLICATED_JOB: name}
        yield parts.ChildTemplate(name, dig(job, "template"), labels, ("spec", "replicatedJobs", index, "template"))


def _exclusive(document: Body, path: Path, count: int) -> tuple[Path, str] | None:
    """Returns the annotation of exclusive placement, if the annotation limits the nodes of the pods.

    A single job has no other job to avoid. If its pods need one zone, or its only pod needs one node, the annotation
    adds no limit.
    """
    jobs = sum(count_or(dig(row, "replicas"), 1) for _, row in items(dig(document, "spec", "replicatedJobs")))
    for at in ((*path[:3], "template", "metadata", "annotations"), ("metadata", "annotations")):
        annotations = dig(document, *at)
        if (key := dig(annotations, JOBSET_TOPOLOGY)) is None:
            continue
        is_judged = normal(str(key)) == ZONE or (normal(str(key)) == HOSTNAME and count == 1)
        if not is_judged or jobs != 1 or dig(annotations, _BY_NODE_SELECTOR) is not None:
            return (*at, JOBSET_TOPOLOGY), f"exclusive placement: every job of the JobSet needs its own {key}"
    return None


_SAMPLE_JOB = {"name": "workers", "template": {"spec": {"template": parts.sample_template("Never")}}}
KINDS = (
    parts.WorkloadKind(
        group=_GROUP, kind="JobSet", version="v1alpha2", templates=("spec.replicatedJobs[].template.spec.template",),
        pod_set=_pod_set, queueing=parts.suspended(JOBSET, 1),
        controller=parts.Controller("JobSet", "jobset-system/jobset-controller-manager", ()),
        child=parts.Child(("batch", "Job"), "-{}-0", _jobs),
        labels=parts.PodLabels(
            {
                JOBSET_NAME: parts.name_of,
                _REPLICATED_JOB: lambda document, path: dig(document, *path[:3], "name"),
            },
            ("jobset.sigs.k8s.io/",),
        ),
        start=parts.AT_ONCE._replace(managers=("jobset.sigs.k8s.io/jobset-controller",)),
        traits=parts.NO_TRAITS._replace(has_service=True, is_rehearsed=True, placement=_exclusive),
        sample_fields={"spec": {"replicatedJobs": [_SAMPLE_JOB]}},
    ),
)  # fmt: skip
