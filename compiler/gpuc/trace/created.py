"""The requests with which a workload is created: the user creates the object, and controllers create jobs and pods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuc.admission.request import Request
from gpuc.admission.validation import with_defaults
from gpuc.cluster.flavors import ResourceFlavor
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.controllers import user
from gpuc.kubernetes.kueue import GATE, MANAGED_LABEL, PODSET_LABEL, QUEUE_LABEL
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items, pairs
from gpuc.parts.workload_kind import RANDOM_SUFFIX, ChildTemplate, WorkloadKind
from gpuc.parts.workload_kinds import workload_kind
from gpuc.trace.workload import PodSet, Workload

MEMBER = "gpuc:member"
"""The user name that the trace gives to the user of a workload. No object of a cluster names this user."""
_EPHEMERAL = "kube-system/ephemeral-volume-controller"
"""The ServiceAccount of the controller of ephemeral volumes.

Source: k8s.io/kubernetes v1.35.4 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go
"""


class Creation(NamedTuple):
    """The request that creates one object of a workload, and where the workload describes this object."""

    request: Request
    path: Path = ()
    """The path of the template of the object in the workload; empty for the workload itself."""
    part: Path = ()
    """The part of the object that the workload has at `path`; empty for the complete object."""


def creator(kind: WorkloadKind, accounts: Mapping[str, str]) -> str:
    """Returns the user name of the controller that creates jobs or pods for an object.

    Args:
        kind: the kind of the workload, or of an object between the workload and its pods.
        accounts: ServiceAccounts of controllers (namespace/name) that replace the usual ServiceAccounts, by the name of
            the kind in Kueue's `frameworks`.
    """
    if kind.controller is None:
        return user("kube-system/unknown")
    own = accounts.get(kind.queueing.framework) if kind.controller.title else None
    return user(own or kind.controller.account)


def object_creations(workload: Workload, groups: Sequence[str], accounts: Mapping[str, str]) -> Iterator[Creation]:
    """Yields the creation of the workload by the user, and of the objects that controllers create before the pods.

    The objects of replicas are equal except for their names; the first object represents all of them.

    Args:
        groups: the groups of the user.
        accounts: as for creator.
    """
    yield Creation(Request(workload.document, MEMBER, tuple(groups)))
    if not workload.pod_sets:
        return
    if workload.made:
        owner = _owner(dig(workload.document, "apiVersion"), workload.kind, workload.name)
        made_object = workload.made.document()
        metadata = {**made_object["metadata"], "namespace": workload.namespace, "ownerReferences": [owner]}
        yield Creation(Request({**made_object, "metadata": metadata}, creator(workload.record, accounts)))
    controller = creator(workload.source[0], accounts)
    for document, made in _children(workload):
        yield Creation(Request(document, controller), made.path, made.part)


def pod_creation(
    workload: Workload, pods: PodSet, flavors: Sequence[ResourceFlavor], *, gated: bool, accounts: Mapping[str, str]
) -> Creation:
    """Returns the creation of one pod of a pod set by its controller.

    Args:
        flavors: the ResourceFlavors with which Kueue starts the pod set; empty without Kueue, and for pods that exist
            before Kueue admits the workload.
        gated: whether Kueue's webhook adds its scheduling gate to the pod.
        accounts: as for creator.
    """
    if workload.record.is_pod:
        document = workload.document
        return Creation(Request({**document, "spec": _spec(dig(document, "spec"), (), gated)}, MEMBER))
    owner = _pod_owner(workload, pods)
    name = workload.name if pods.job_field else _owner_name(workload, pods.name)
    known = {key: value({"metadata": {"name": name}}, ()) for key, value in owner.labels.known.items()}
    labels: Body = {**pods.labels, **{key: text for key, text in known.items() if text is not None}}
    if flavors:
        labels[PODSET_LABEL] = pods.name
    if gated:
        labels |= {MANAGED_LABEL: "true", **({QUEUE_LABEL: workload.queue} if workload.queue else {})}
    api = dig(workload.document, "apiVersion") if owner is workload.record else owner.api
    metadata: Body = {
        "name": f"{name}{RANDOM_SUFFIX}",
        "namespace": workload.namespace,
        "labels": labels,
        "annotations": pods.annotations,
        "ownerReferences": [_owner(api, owner.kind, name)],
    }
    created = [claim.request.document for claim in template_claims(workload, pods)]
    spec = _with_claims(_spec(pods.pod, flavors, gated), pods, created)
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return Creation(Request(document, creator(owner, accounts), claims=tuple(created)), pods.path)


def template_claims(workload: Workload, pods: PodSet) -> Iterator[Creation]:
    """Yields the creations of the PersistentVolumeClaims for one pod from the templates of a StatefulSet.

    The StatefulSet controller creates the claims before the pod.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/statefulset/stateful_set_utils.go (getPersistentVolumeClaims)
    """
    labels = dict(pairs(dig(workload.document, "spec", "selector", "matchLabels")))
    for index, template in enumerate(pods.claims):
        name = f"{dig(template, 'metadata', 'name')}-{workload.name}-0"
        request = Request(_claim(workload, template, name, labels), creator(_pod_owner(workload, pods), {}))
        yield Creation(request, (*workload.record.traits.claims, index))


def ephemeral_claims(workload: Workload, pods: PodSet) -> Iterator[Creation]:
    """Yields the creations of the PersistentVolumeClaims of ephemeral volumes, for one pod.

    The controller of ephemeral volumes creates the claims after the pod.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/volume/ephemeral/controller.go (handleVolume)
    """
    for index, volume in items(dig(pods.pod, "volumes")):
        if isinstance(template := dig(volume, "ephemeral", "volumeClaimTemplate"), dict):
            name = f"{_owner_name(workload, pods.name)}{RANDOM_SUFFIX}-{dig(volume, 'name')}"
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


def _pod_owner(workload: Workload, pods: PodSet) -> WorkloadKind:
    """Returns the kind of the object that owns a pod."""
    record = workload.source[0]
    if pods.job_field:
        return workload_kind("batch", "Job")
    return workload_kind(*record.child.kind) if record.child else record


def _owner_name(workload: Workload, pod_set: str) -> str:
    child = workload.source[0].child
    return workload.name + (child.suffix.format(pod_set) if child else "")


def _children(workload: Workload) -> Iterator[tuple[Body, ChildTemplate]]:
    """Yields the objects that the controller of a workload creates before the pods, with their templates.

    The StatefulSets of a LeaderWorkerSet and the submitter Job of a RayJob are not included.
    """
    record, source = workload.source
    child = record.child
    if child is None:
        return
    kind, owner = workload_kind(*child.kind), _owner(source["apiVersion"], record.kind, workload.name)
    for made in child.templates(with_defaults(source)):
        metadata = _metadata(workload, made.template, _owner_name(workload, made.pod_set), made.labels)
        body = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": dig(made.template, "spec")}
        yield {"apiVersion": kind.api, "kind": kind.kind, **body}, made


def _owner(api: Any, kind: str, name: str) -> Body:
    return {"apiVersion": api, "kind": kind, "name": name, "controller": True, "uid": "0"}


def _metadata(workload: Workload, template: Any, name: str, labels: Mapping[str, str]) -> Body:
    """Returns the metadata of an object from a template, with a name and labels of the controller."""
    declared = dict(pairs(dig(template, "metadata")))
    added = {**dict(pairs(declared.get("labels"))), **labels}
    named = {**declared, "name": name, "namespace": workload.namespace}
    return {**named, "labels": added} if added else named
