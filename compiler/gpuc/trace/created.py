"""The requests that create a workload: the user creates the object, and controllers create its jobs and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuc.admission.request import Request
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.controllers import UPSTREAM, user
from gpuc.kubernetes.kueue import GATE, MANAGED_LABEL, PODSET_LABEL, QUEUE_LABEL
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.pods import JOB_NAME, JOBSET_NAME, REPLICATED_JOB
from gpuc.trace.kueue_scope import framework
from gpuc.trace.workload import CLAIM_TEMPLATES, PodSet, Workload

MEMBER = "gpuc:member"
"""The user name that the trace gives to the user of a workload. No object of a cluster names this user."""
_SUFFIX = "-xxxxx"
"""The form of the random suffix of generated names."""
_BUILTIN: Mapping[str, str] = {
    kind: f"{kind.lower()}-controller" for kind in ("CronJob", "Job", "Deployment", "ReplicaSet", "StatefulSet")
}
"""The ServiceAccounts of the controllers of built-in kinds in namespace kube-system.

Source: k8s.io/kubernetes v1.35.4 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go
"""
_EPHEMERAL = "kube-system/ephemeral-volume-controller"
"""The ServiceAccount of the controller of ephemeral volumes. Source: as for _BUILTIN."""
_POD_OWNERS: Mapping[str, tuple[str, str]] = {
    "CronJob": ("batch/v1", "Job"),
    "JobSet": ("batch/v1", "Job"),
    "Deployment": ("apps/v1", "ReplicaSet"),
    "LeaderWorkerSet": ("apps/v1", "StatefulSet"),
    "RayJob": ("ray.io/v1", "RayCluster"),
}
"""The apiVersion and kind of the object that owns the pods of a workload, if it is not the workload itself."""


class Creation(NamedTuple):
    """The creation of one object of a workload."""

    request: Request
    path: Path = ()
    """The path of the template of the object in the workload; empty for the workload itself."""


def creator(workload: Workload, kind: str, accounts: Mapping[str, str]) -> str:
    """Returns the user name of the controller that creates the dependents of an object.

    Args:
        kind: the kind of the object: the kind of the workload, or of an object between the workload and its pods.
        accounts: ServiceAccounts of controllers as namespace/name by framework of Kueue, which replace the upstream
            ServiceAccounts.
    """
    if kind in _BUILTIN:
        return user(f"kube-system/{_BUILTIN[kind]}")
    own = framework(workload.api_group, kind)
    default = UPSTREAM["kubeflow.org/pytorchjob"] if own.startswith("kubeflow.org/") else "kube-system/unknown"
    return user({**UPSTREAM, **accounts}.get(own, default))


def object_creations(workload: Workload, groups: Sequence[str], accounts: Mapping[str, str]) -> Iterator[Creation]:
    """Yields the creation of the object by the user, then of the objects between the object and its pods.

    The objects of replicas are equal except for their names; the first one represents all of them.

    Args:
        groups: the groups of the user.
        accounts: as for creator.
    """
    yield Creation(Request(workload.document, MEMBER, tuple(groups)))
    if not workload.pod_sets:
        return
    controller = creator(workload, workload.kind, accounts)
    for document, path in _children(workload):
        yield Creation(Request(document, controller), path)


def pod_creation(
    workload: Workload, pods: PodSet, flavors: Sequence[ResourceFlavor], *, gated: bool, accounts: Mapping[str, str]
) -> Creation:
    """Returns the creation of one pod of a pod set.

    Args:
        flavors: the ResourceFlavors with which Kueue starts the pod set; empty without Kueue, and for pods that exist
            before Kueue admits the workload.
        gated: whether Kueue's webhook adds its scheduling gate to the pod.
        accounts: as for creator.
    """
    if workload.kind == "Pod":
        document = workload.document
        return Creation(Request({**document, "spec": _spec(dig(document, "spec"), (), gated)}, MEMBER))
    own = str(dig(workload.document, "apiVersion")), workload.kind
    api, kind = _POD_OWNERS.get(workload.kind, own) if pods.path else _POD_OWNERS["CronJob"]
    name = _owner_name(workload, pods)
    labels: Body = {**pods.labels, **(dict.fromkeys(JOB_NAME, name) if kind == "Job" else {})}
    if flavors:
        labels[PODSET_LABEL] = pods.name
    if gated:
        labels |= {MANAGED_LABEL: "true", **({QUEUE_LABEL: workload.queue} if workload.queue else {})}
    metadata: Body = {
        "name": f"{name}{_SUFFIX}",
        "namespace": workload.namespace,
        "labels": labels,
        "annotations": pods.annotations,
        "ownerReferences": [_owner(api, kind, name)],
    }
    created = [claim.request.document for claim in template_claims(workload, pods)]
    spec = _with_claims(_spec(pods.pod, flavors, gated), pods, created)
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return Creation(Request(document, creator(workload, kind, accounts), claims=tuple(created)), pods.path)


def template_claims(workload: Workload, pods: PodSet) -> Iterator[Creation]:
    """Yields the creations of the PersistentVolumeClaims that a StatefulSet has templates for, for one pod.

    The StatefulSet controller creates the claims before the pod.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/statefulset/stateful_set_utils.go (getPersistentVolumeClaims)
    """
    labels = dict(pairs(dig(workload.document, "spec", "selector", "matchLabels")))
    for index, template in enumerate(pods.claims):
        name = f"{dig(template, 'metadata', 'name')}-{workload.name}-0"
        request = Request(_claim(workload, template, name, labels), user(f"kube-system/{_BUILTIN['StatefulSet']}"))
        yield Creation(request, (*CLAIM_TEMPLATES[workload.kind], index))


def ephemeral_claims(workload: Workload, pods: PodSet) -> Iterator[Creation]:
    """Yields the creations of the PersistentVolumeClaims of ephemeral volumes, for one pod.

    The controller of ephemeral volumes creates the claims after the pod.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/volume/ephemeral/controller.go (handleVolume)
    """
    for index, volume in items(dig(pods.pod, "volumes")):
        if isinstance(template := dig(volume, "ephemeral", "volumeClaimTemplate"), dict):
            name = f"{_owner_name(workload, pods)}{_SUFFIX}-{dig(volume, 'name')}"
            request = Request(_claim(workload, template, name, {}), user(_EPHEMERAL))
            yield Creation(request, (*pods.path, "spec", "volumes", index, "ephemeral", "volumeClaimTemplate"))


def _claim(workload: Workload, template: Any, name: str, labels: Body) -> Body:
    """Returns a PersistentVolumeClaim, to which the controller adds labels."""
    metadata = _metadata(workload, template, name, labels)
    spec = {"volumeMode": "Filesystem", **dict(pairs(dig(template, "spec")))}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _with_claims(pod: Any, pods: PodSet, claims: Sequence[Body]) -> Any:
    """Returns the spec of a pod with a volume for every claim, instead of volumes with the names of the templates."""
    names = [dig(template, "metadata", "name") for template in pods.claims]
    if not names or not isinstance(pod, dict):
        return pod
    others = [volume for _, volume in items(pod.get("volumes")) if dig(volume, "name") not in names]
    added = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
        for name, claim in zip(names, claims, strict=True)
    ]
    return {**pod, "volumes": [*added, *others]}


def _spec(pod: Any, flavors: Sequence[ResourceFlavor], gated: bool) -> Any:
    """Returns the spec of a pod with the node labels and tolerations of its flavors, and with Kueue's scheduling gate.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/podset/podset.go; pkg/controller/jobs/pod/pod_webhook.go
    """
    if not isinstance(pod, dict):
        return pod
    spec = dict(pod)
    for flavor in flavors:
        if flavor.labels:
            spec["nodeSelector"] = {**dict(pairs(spec.get("nodeSelector"))), **flavor.labels}
        tolerations = dig(flavor.manifest.body, "spec", "tolerations")
        known = [item for _, item in items(spec.get("tolerations"))]
        if added := [item for _, item in items(tolerations) if item not in known]:
            spec["tolerations"] = [*known, *added]
    if gated:
        spec["schedulingGates"] = [*(gate for _, gate in items(spec.get("schedulingGates"))), {"name": GATE}]
    return spec


def _owner_name(workload: Workload, pods: PodSet) -> str:
    """Returns the name of the object that owns a pod."""
    endings = {"JobSet": f"-{pods.name}-0", "CronJob": "-00000000", "Deployment": "-0000000000", "RayJob": _SUFFIX}
    return workload.name + endings.get(workload.kind, "")


def _children(workload: Workload) -> Iterator[tuple[Body, Path]]:
    """Yields the objects that the controller of a workload creates before the pods, with the paths of their templates.

    The StatefulSets of a LeaderWorkerSet and the submitter Job of a RayJob are not included.
    """
    spec = dig(workload.document, "spec")
    pods = workload.pod_sets[0]
    match workload.kind:
        case "CronJob":
            template = dig(spec, "jobTemplate")
            yield _child(workload, template, _owner_name(workload, pods)), ("spec", "jobTemplate")
        case "JobSet":
            for index, job in items(dig(spec, "replicatedJobs")):
                name = str(dig(job, "name"))
                labels = {JOBSET_NAME: workload.name, REPLICATED_JOB: name}
                child = _child(workload, dig(job, "template"), f"{workload.name}-{name}-0", labels)
                yield child, ("spec", "replicatedJobs", index, "template")
        case "Deployment":
            names = ("replicas", "selector", "template", "minReadySeconds")
            replica_set = {name: value for name in names if (value := dig(spec, name)) is not None}
            template = {"metadata": {"labels": pods.labels}, "spec": replica_set}
            yield _child(workload, template, _owner_name(workload, pods)), ()
        case "RayJob":
            template = {"spec": dig(spec, "rayClusterSpec")}
            yield _child(workload, template, _owner_name(workload, pods)), ("spec", "rayClusterSpec")


def _child(workload: Workload, template: Any, name: str, labels: Mapping[str, str] | None = None) -> Body:
    """Returns the object that a controller creates from a template, and to which the controller adds labels."""
    api, kind = _POD_OWNERS[workload.kind]
    owner = _owner(dig(workload.document, "apiVersion"), workload.kind, workload.name)
    metadata = {**_metadata(workload, template, name, labels or {}), "ownerReferences": [owner]}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": dig(template, "spec")}


def _owner(api: Any, kind: str, name: str) -> Body:
    return {"apiVersion": api, "kind": kind, "name": name, "controller": True, "uid": "0"}


def _metadata(workload: Workload, template: Any, name: str, labels: Mapping[str, str]) -> Body:
    """Returns the metadata of an object from a template, with a name and labels of the controller."""
    declared = dict(pairs(dig(template, "metadata")))
    added = {**dict(pairs(declared.get("labels"))), **labels}
    named = {**declared, "name": name, "namespace": workload.namespace}
    return {**named, "labels": added} if added else named
