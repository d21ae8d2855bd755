"""The records of the kinds of KubeRay.

Source: the CRDs of ray-project/kuberay v1.6.2; helm-chart/kuberay-operator/templates/_helpers.tpl: the ServiceAccount
has the name of the release, and upstream names no namespace; ray-operator/controllers/ray/common/job.go
(GetDefaultSubmitterTemplate); ray-operator/controllers/ray/utils/constant.go (KubeRayController)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig
from gpuc.parts.workload_kind import (
    LABELS,
    NOT_QUEUED,
    RANDOM_SUFFIX,
    Child,
    ChildTemplate,
    Controller,
    PodLabels,
    Queueing,
    Start,
    Template,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)

_GROUP = "ray.io"
_SUBMITTER = {"containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]}
"""The spec of the default pod that submits a RayJob."""
_QUEUEING = Queueing(
    f"{_GROUP}/raycluster", 6, holds_pods=False, is_pod_group=False, is_per_replica=False, labels=(LABELS,)
)


def _templates(cluster: str) -> tuple[str, ...]:
    return f"{cluster}.headGroupSpec.template", f"{cluster}.workerGroupSpecs[].template"


def _pod_set(document: Body, path: Path) -> tuple[str, int]:
    if path[-2] == "headGroupSpec":
        return "head", 1
    workers = dig(document, *path[:-1])
    hosts = count_or(dig(workers, "numOfHosts"), 1)
    return str(dig(workers, "groupName")), count_or(dig(workers, "replicas"), 1) * hosts


def _submitter(document: Body) -> Iterator[Template]:
    """Yields the pod that submits the job of a RayJob."""
    if dig(document, "spec", "submissionMode") in (None, "K8sJobMode"):
        declared = dig(document, "spec", "submitterPodTemplate", "spec")
        yield "submitter", declared if declared is not None else _SUBMITTER


def _clusters(document: Body) -> Iterator[ChildTemplate]:
    path = ("spec", "rayClusterSpec")
    yield ChildTemplate("", {"spec": dig(document, *path)}, {}, path)


def _cluster_sample() -> Body:
    head = {"rayStartParams": {}, "template": sample_template("Always")}
    return {"headGroupSpec": head, "workerGroupSpecs": [{**head, "groupName": "workers", "replicas": 1}]}


def _sample(kind: str, spec: Callable[[], Body], queue: str) -> Body:
    return sample(f"{_GROUP}/v1", kind, queue, spec())


def _job_sample() -> Body:
    return {"entrypoint": "python train.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": _cluster_sample()}


_CLUSTER = WorkloadKind(
    group=_GROUP,
    kind="RayCluster",
    version="v1",
    templates=_templates("spec"),
    pod_set=_pod_set,
    further_pods=no_pods,
    queueing=_QUEUEING,
    controller=Controller("KubeRay", "kuberay-operator/kuberay-operator", ()),
    child=None,
    labels=PodLabels({}, ("ray.io/",)),
    start=Start(("spec",), schedule=None, deadline=None, managers=("ray.io/kuberay-operator",)),
    claims=(),
    keeps_data=False,
    is_scaled=False,
    has_service=True,
    is_expanded=False,
    why_not_traced="",
    placement=no_rule,
    sample=partial(_sample, "RayCluster", _cluster_sample),
)
KINDS = (
    replace(
        _CLUSTER,
        kind="RayJob",
        templates=_templates("spec.rayClusterSpec"),
        further_pods=_submitter,
        queueing=_QUEUEING._replace(framework=f"{_GROUP}/rayjob", place=5),
        child=Child((_GROUP, "RayCluster"), RANDOM_SUFFIX, _clusters),
        sample=partial(_sample, "RayJob", _job_sample),
    ),
    _CLUSTER,
    replace(
        _CLUSTER,
        kind="RayService",
        templates=_templates("spec.rayClusterConfig"),
        pod_set=None,
        queueing=_QUEUEING._replace(framework=f"{_GROUP}/rayservice", place=None),
        sample=partial(_sample, "RayService", lambda: {"rayClusterConfig": _cluster_sample()}),
    ),
    replace(
        _CLUSTER,
        kind="RayCronJob",
        templates=(),
        pod_set=None,
        queueing=NOT_QUEUED,
        sample=partial(_sample, "RayCronJob", lambda: {"schedule": "0 3 * * *", "jobTemplate": _job_sample()}),
    ),
)
