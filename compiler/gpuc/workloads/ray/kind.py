"""The records of the kinds of KubeRay.

Source: the CRDs of ray-project/kuberay v1.6.2; helm-chart/kuberay-operator/templates/_helpers.tpl: the ServiceAccount
has the name of the release, and upstream names no namespace; ray-operator/controllers/ray/common/job.go
(GetDefaultSubmitterTemplate); ray-operator/controllers/ray/utils/constant.go (KubeRayController)
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts import workload_kind as parts

_GROUP = "ray.io"
_SUBMITTER = {
    "name": "ray-job-submitter",
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}},
}
"""The container of the default pod that submits a RayJob. It has the image of the head."""
_TRAITS = parts.NO_TRAITS._replace(has_service=True)


def _templates(cluster: str) -> tuple[str, ...]:
    return f"{cluster}.headGroupSpec.template", f"{cluster}.workerGroupSpecs[].template"


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    if path[-2] == "headGroupSpec":
        return "head", 1
    workers = dig(document, *path[:-1])
    hosts = count_or(dig(workers, "numOfHosts"), 1)
    return str(dig(workers, "groupName")), count_or(dig(workers, "replicas"), 1) * hosts


def _submitter(document: Body) -> Iterator[parts.Template]:
    """Yields the pod that submits the job of a RayJob."""
    if dig(document, "spec", "submissionMode") in (None, "K8sJobMode"):
        declared = dig(document, "spec", "submitterPodTemplate", "spec")
        if declared is None:
            head = dig(document, "spec", "rayClusterSpec", "headGroupSpec", "template", "spec")
            image = dig(head, "containers", 0, "image") or "ray"  # the image of a running cluster is in no file
            declared = {"containers": [{**_SUBMITTER, "image": image}], "restartPolicy": "Never"}
        yield "submitter", declared


def _clusters(document: Body) -> Iterator[parts.ChildTemplate]:
    path = ("spec", "rayClusterSpec")
    yield parts.ChildTemplate("", {"spec": dig(document, *path)}, {}, path)


_HEAD: Body = {"rayStartParams": {}, "template": parts.sample_template("Always")}
_SPEC: Body = {"headGroupSpec": _HEAD, "workerGroupSpecs": [{**_HEAD, "groupName": "workers", "replicas": 1}]}
_JOB_SPEC: Body = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _SPEC}
_CLUSTER = parts.WorkloadKind(
    group=_GROUP, kind="RayCluster", version="v1", templates=_templates("spec"), pod_set=_pod_set,
    queueing=parts.suspended(f"{_GROUP}/raycluster", 6), child=None,
    controller=parts.Controller("KubeRay", "kuberay-operator/kuberay-operator", ()),
    labels=parts.PodLabels({}, ("ray.io/",)), start=parts.AT_ONCE._replace(managers=("ray.io/kuberay-operator",)),
    traits=_TRAITS, sample_fields={"spec": _SPEC},
)  # fmt: skip
KINDS = (
    replace(
        _CLUSTER, kind="RayJob", templates=_templates("spec.rayClusterSpec"),
        queueing=parts.suspended(f"{_GROUP}/rayjob", 5), traits=_TRAITS._replace(further_pods=_submitter),
        child=parts.Child((_GROUP, "RayCluster"), parts.RANDOM_SUFFIX, _clusters),
        sample_fields={"spec": _JOB_SPEC},
    ),
    _CLUSTER,
    replace(
        _CLUSTER, kind="RayService", templates=_templates("spec.rayClusterConfig"), pod_set=None,
        queueing=parts.suspended(f"{_GROUP}/rayservice", None),
        sample_fields={"spec": {"rayClusterConfig": _SPEC}},
    ),
    replace(
        _CLUSTER, kind="RayCronJob", templates=(), pod_set=None, queueing=parts.NOT_QUEUED,
        sample_fields={"spec": {"schedule": "0 3 * * *", "jobTemplate": _JOB_SPEC}},
    ),
)  # fmt: skip
