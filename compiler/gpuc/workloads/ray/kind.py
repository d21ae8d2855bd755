"""What gpuc knows about RayClusters, RayJobs and RayServices.

Source: the CRDs of ray-project/kuberay v1.6.2; helm-chart/kuberay-operator/templates/_helpers.tpl: the ServiceAccount
has the name of the release, and upstream names no namespace; ray-operator/controllers/ray/common/pod.go (labelPod),
utils/constant.go (KubeRayController)
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig
from gpuc.parts import workload_kind as parts
from gpuc.workloads.ray.pods import existing_cluster, made, submitter, worker_pods

_GROUP = "ray.io"
_TRAITS = parts.NO_TRAITS._replace(has_service=True, made=made)


def _templates(cluster: str) -> tuple[str, ...]:
    return f"{cluster}.headGroupSpec.template", f"{cluster}.workerGroupSpecs[].template"


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    if path[-2] == "headGroupSpec":
        return "head", 1
    group = dig(document, *path[:-1])
    return str(dig(group, "groupName")), worker_pods(group)


def _clusters(field: str) -> Callable[[Body], Iterator[parts.ChildTemplate]]:
    """Returns the function that yields the RayCluster whose spec is in a field of the spec of an object."""
    path = ("spec", field)

    def clusters(document: Body) -> Iterator[parts.ChildTemplate]:
        if not existing_cluster(document):
            yield parts.ChildTemplate("", {"spec": dig(document, *path)}, {}, path, part=("spec",))

    return clusters


def _group(document: Body, path: Path) -> str | None:
    if not path:
        return None
    return "headgroup" if path[-2] == "headGroupSpec" else _pod_set(document, path)[0]


def _node_type(_: Body, path: Path) -> str | None:
    if not path:
        return None
    return "head" if path[-2] == "headGroupSpec" else "worker"


_HEAD: Body = {"rayStartParams": {}, "template": parts.sample_template("Always")}
_SPEC: Body = {"headGroupSpec": _HEAD, "workerGroupSpecs": [{**_HEAD, "groupName": "workers", "replicas": 1}]}
_JOB_SPEC: Body = {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _SPEC}
_LABELS = parts.PodLabels(
    {"ray.io/is-ray-node": lambda _, __: "yes", "ray.io/node-type": _node_type, "ray.io/group": _group}, ("ray.io/",)
)
_CLUSTER = parts.WorkloadKind(
    group=_GROUP, kind="RayCluster", version="v1", templates=_templates("spec"), pod_set=_pod_set,
    queueing=parts.suspended(f"{_GROUP}/raycluster", 6), child=None,
    controller=parts.Controller("KubeRay", "kuberay-operator/kuberay-operator", ()),
    labels=_LABELS, start=parts.AT_ONCE._replace(managers=("ray.io/kuberay-operator",)),
    traits=_TRAITS, sample_fields={"spec": _SPEC},
)  # fmt: skip
KINDS = (
    replace(
        _CLUSTER, kind="RayJob", templates=_templates("spec.rayClusterSpec"),
        queueing=parts.suspended(f"{_GROUP}/rayjob", 5),
        traits=_TRAITS._replace(further_pods=submitter, elsewhere=existing_cluster),
        child=parts.Child((_GROUP, "RayCluster"), parts.RANDOM_SUFFIX, _clusters("rayClusterSpec")),
        sample_fields={"spec": _JOB_SPEC},
    ),
    _CLUSTER,
    replace(
        _CLUSTER, kind="RayService", templates=_templates("spec.rayClusterConfig"),
        queueing=parts.suspended(f"{_GROUP}/rayservice", 7),
        child=parts.Child((_GROUP, "RayCluster"), parts.RANDOM_SUFFIX, _clusters("rayClusterConfig")),
        sample_fields={"spec": {"rayClusterConfig": _SPEC}},
    ),
    replace(
        _CLUSTER, kind="RayCronJob", templates=(), pod_set=None, queueing=parts.NOT_QUEUED,
        sample_fields={"spec": {"schedule": "0 3 * * *", "jobTemplate": _JOB_SPEC}},
    ),
)  # fmt: skip
