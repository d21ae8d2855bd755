"""What gpuc knows about Deployments, StatefulSets, ReplicaSets and DaemonSets.

Source: k8s.io/api v0.35 apps/v1; k8s.io/kubernetes v1.35.4
plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go; kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/deployment/deployment_webhook.go
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gpuc.kubernetes.kueue import DEPLOYMENT, POD
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import count_or, dig, pairs
from gpuc.parts import workload_kind as parts

_OF_PODS = ("spec", "template", *parts.LABELS)


def _replica_sets(document: Body) -> Iterator[parts.ChildTemplate]:
    """Yields the ReplicaSet of a Deployment."""
    names = ("replicas", "selector", "template", "minReadySeconds")
    spec = {name: value for name in names if (value := dig(document, "spec", name)) is not None}
    yield parts.ChildTemplate("", {"metadata": {"labels": dict(pairs(dig(document, *_OF_PODS)))}, "spec": spec}, {}, ())


_SPEC = {"selector": {"matchLabels": {"app": "sample"}}, "template": parts.sample_template("Always", "app")}
_QUEUEING = parts.Queueing(
    DEPLOYMENT, 9, holds_pods=True, is_pod_group=False, is_per_replica=True, labels=(_OF_PODS, parts.LABELS)
)
_TRAITS = parts.NO_TRAITS._replace(is_scaled=True)
_DEPLOYMENT = parts.WorkloadKind(
    group="apps", kind="Deployment", version="v1", templates=("spec.template",), pod_set=lambda _, __: ("main", 1),
    queueing=_QUEUEING, controller=parts.Controller("", "kube-system/deployment-controller", ()),
    child=parts.Child(("apps", "ReplicaSet"), "-0000000000", _replica_sets),
    labels=parts.PodLabels({}, ("pod-template-hash",)), start=parts.AT_ONCE, traits=_TRAITS._replace(is_expanded=True),
    sample_fields={"spec": _SPEC},
)  # fmt: skip
KINDS = (
    _DEPLOYMENT,
    replace(
        _DEPLOYMENT, kind="StatefulSet",
        pod_set=lambda document, _: ("main", count_or(dig(document, "spec", "replicas"), 1)),
        queueing=_QUEUEING._replace(framework="statefulset", place=10, is_pod_group=True, is_per_replica=False),
        controller=parts.Controller("", "kube-system/statefulset-controller", ()), child=None,
        labels=parts.PodLabels({}, ("apps.kubernetes.io/", "controller-", "statefulset.kubernetes.io/")),
        traits=_TRAITS._replace(claims=("spec", "volumeClaimTemplates"), keeps_data=True, is_expanded=True),
        sample_fields={"spec": {**_SPEC, "serviceName": "sample"}},
    ),
    replace(
        _DEPLOYMENT, kind="ReplicaSet", queueing=_QUEUEING._replace(framework=POD, place=None, labels=(_OF_PODS,)),
        controller=parts.Controller("", "kube-system/replicaset-controller", ()), child=None, traits=_TRAITS,
    ),
    replace(
        _DEPLOYMENT, kind="DaemonSet", pod_set=None, queueing=parts.NOT_QUEUED,
        controller=parts.Controller("", "kube-system/daemon-set-controller", ()), child=None,
        labels=parts.PodLabels({}, ("controller-", "pod-template-generation")),
        traits=parts.NO_TRAITS._replace(is_per_node=True),
    ),
)  # fmt: skip
