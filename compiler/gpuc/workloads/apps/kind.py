"""The records of Deployments, StatefulSets, ReplicaSets and DaemonSets.

Source: k8s.io/api v0.35 apps/v1; k8s.io/kubernetes v1.35.4
plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go; kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/deployment/deployment_webhook.go
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import DEPLOYMENT, POD, QUEUE_LABEL
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig, pairs
from gpuc.parts.workload_kind import (
    AT_ONCE,
    LABELS,
    NOT_QUEUED,
    Child,
    ChildTemplate,
    Controller,
    PodLabels,
    Queueing,
    WorkloadKind,
    no_pods,
    no_rule,
    sample,
    sample_template,
)

_OF_PODS: Path = ("spec", "template", *LABELS)
_APP = "app"


def _replica_sets(document: Body) -> Iterator[ChildTemplate]:
    """Yields the ReplicaSet of a Deployment."""
    names = ("replicas", "selector", "template", "minReadySeconds")
    spec = {name: value for name in names if (value := dig(document, "spec", name)) is not None}
    yield ChildTemplate("", {"metadata": {"labels": dict(pairs(dig(document, *_OF_PODS)))}, "spec": spec}, {}, ())


def _all_replicas(document: Body, _: Path) -> tuple[str, int]:
    return "main", count_or(dig(document, "spec", "replicas"), 1)


def _sample(kind: str, fields: Body, queue: str) -> Body:
    template = sample_template("Always", _APP)
    spec = {"selector": {"matchLabels": {_APP: "sample"}}, "template": template, **fields}
    return sample("apps/v1", kind, queue, spec)


def _replica_set_sample(queue: str) -> Body:
    document = _sample("ReplicaSet", {}, queue)
    document["spec"]["template"]["metadata"]["labels"][QUEUE_LABEL] = queue
    return document


_DEPLOYMENT = WorkloadKind(
    group="apps",
    kind="Deployment",
    version="v1",
    templates=("spec.template",),
    pod_set=lambda _, __: ("main", 1),
    further_pods=no_pods,
    queueing=Queueing(
        DEPLOYMENT, 9, holds_pods=True, is_pod_group=False, is_per_replica=True, labels=(_OF_PODS, LABELS)
    ),
    controller=Controller("", "kube-system/deployment-controller", ()),
    child=Child(("apps", "ReplicaSet"), "-0000000000", _replica_sets),
    labels=PodLabels({}, ("pod-template-hash",)),
    start=AT_ONCE,
    claims=(),
    keeps_data=False,
    is_scaled=True,
    has_service=False,
    is_expanded=True,
    why_not_traced="",
    placement=no_rule,
    sample=partial(_sample, "Deployment", {}),
)
KINDS = (
    _DEPLOYMENT,
    replace(
        _DEPLOYMENT,
        kind="StatefulSet",
        pod_set=_all_replicas,
        queueing=Queueing(
            "statefulset", 10, holds_pods=True, is_pod_group=True, is_per_replica=False, labels=(_OF_PODS, LABELS)
        ),
        controller=Controller("", "kube-system/statefulset-controller", ()),
        child=None,
        labels=PodLabels({}, ("apps.kubernetes.io/", "controller-", "statefulset.kubernetes.io/")),
        claims=("spec", "volumeClaimTemplates"),
        keeps_data=True,
        sample=partial(_sample, "StatefulSet", {"serviceName": "sample"}),
    ),
    replace(
        _DEPLOYMENT,
        kind="ReplicaSet",
        queueing=Queueing(POD, None, holds_pods=True, is_pod_group=False, is_per_replica=True, labels=(_OF_PODS,)),
        controller=Controller("", "kube-system/replicaset-controller", ()),
        child=None,
        is_expanded=False,
        sample=_replica_set_sample,
    ),
    replace(
        _DEPLOYMENT,
        kind="DaemonSet",
        pod_set=None,
        queueing=NOT_QUEUED,
        controller=Controller("", "kube-system/daemon-set-controller", ()),
        child=None,
        labels=PodLabels({}, ("controller-", "pod-template-generation")),
        is_scaled=False,
        is_expanded=False,
        sample=partial(_sample, "DaemonSet", {}),
    ),
)
