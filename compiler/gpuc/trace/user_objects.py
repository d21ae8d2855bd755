"""Finds objects in the files of users that are meant as workloads, but whose pods gpuc cannot read."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.spelling import misspelt
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import count_or, dig, group, pairs
from gpuc.objects.pods import pods_of
from gpuc.parts.workload_kind import WorkloadKind
from gpuc.parts.workload_kinds import workload_kind, workload_kinds
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload

HPA = ("autoscaling", "HorizontalPodAutoscaler")
KEDA = ("keda.sh", "ScaledObject")


@cache
def _traced_kinds() -> Mapping[str, WorkloadKind]:
    """Returns the traced kinds of workloads by their name. Each built-in kind has only one apiVersion.

    Kubernetes 1.16 removed extensions/v1beta1, apps/v1beta1 and apps/v1beta2 of these kinds; 1.25 removed
    batch/v1beta1.

    Source: k8s.io/api v0.35.4 apps/v1, batch/v1, core/v1 (register.go); Kubernetes documentation, Deprecated API
    Migration Guide
    """
    traced = (kind for kind in workload_kinds() if kind.is_traced)
    return {kind.kind: kind for kind in sorted(traced, key=lambda kind: kind.is_builtin)}


def unserved(manifest: Manifest) -> Step | None:
    """Returns a failed check for a workload in an API group of Kubernetes that has no such kind or version; else None.

    The names of the groups of CustomResourceDefinitions have a dot.
    """
    served = _traced_kinds().get(manifest.kind)
    if served is None or manifest.api == served.api or "." in group(manifest):
        return None
    message = f"the API server does not serve kind {manifest.kind} in apiVersion {manifest.api}"
    return Step(Stage.API, "failed", message, fix=f"set apiVersion to {served.api}", field=("apiVersion",))


def workload_without_pods(manifest: Manifest, document: Body) -> Workload | None:
    """Returns a workload without pod sets for an object with the name of a traced kind; None for other kinds.

    The API server refuses the object, because its apiVersion is wrong or because it has no pod template.
    """
    if manifest.kind not in _traced_kinds() or "." in group(manifest):
        return None
    api_group = group(manifest)
    return Workload((), manifest.namespace, "", manifest.kind, api_group, manifest.name, object=document)


def why_not_traced(manifest: Manifest) -> str:
    """Returns why gpuc does not trace an object that has, or may have, pods; an empty string for other objects."""
    record = workload_kind(group(manifest), manifest.kind)
    if record.traits.why_not_traced:
        return record.traits.why_not_traced
    if elsewhere := record.traits.elsewhere(manifest.document()):
        return f"{elsewhere}; trace this object"
    if any(pods_of(manifest)) and record.creates_pods:
        return f"gpuc does not trace kind {manifest.kind}"
    kinds = {kind.kind for kind in workload_kinds() if kind.templates}
    if manifest.kind not in kinds and (meant := misspelt(manifest.kind, sorted(kinds))):
        return f"the kind {manifest.kind} is unknown (did you mean {meant}?)"
    return "gpuc finds no pod template in the object" if record.templates and record.creates_pods else ""


def with_replicas_of_autoscalers(
    manifest: Manifest, namespaces: Iterable[str], objects: Iterable[Manifest]
) -> tuple[Manifest, str]:
    """Returns a workload with at least as many replicas as its autoscalers run, and a sentence about an autoscaler.

    If no autoscaler runs more replicas than the workload requests, the workload is unchanged and the sentence is empty.
    Because of metrics, an autoscaler can run still more replicas, up to its maximum.

    Args:
        namespaces: the namespaces in which an autoscaler can scale the workload.
        objects: objects with the autoscalers.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler; kedacore/keda
    v2.20.2 pkg/scaling/executor/scale_scaledobjects.go, RequestScale
    """
    declared = count_or(dig(manifest.body, "spec", "replicas"), 1)
    scalers = [scaler for scaler in objects if scaler.namespace in namespaces and scales(scaler, manifest)]
    least = {str(scaler): _least(scaler, declared) for scaler in scalers}
    if not workload_kind(group(manifest), manifest.kind).traits.is_scaled or max(least.values(), default=0) <= declared:
        return manifest, ""
    name = max(least, key=lambda scaler: least[scaler])
    spec = {**dict(pairs(manifest.body.get("spec"))), "replicas": least[name]}
    sentence = f"{name} runs at least {least[name]} replicas; the {manifest.kind} declares {declared}"
    return replace(manifest, body={**manifest.body, "spec": spec}), sentence


def scales(scaler: Manifest, manifest: Manifest) -> bool:
    """Returns whether an object is an autoscaler of a workload: its scaleTargetRef names the workload."""
    is_scaler = (group(scaler), scaler.kind) in (HPA, KEDA)
    return is_scaler and scaled(scaler) == (group(manifest), manifest.kind, manifest.name)


def scaled(scaler: Manifest) -> tuple[Any, Any, Any]:
    """Returns the API group, the kind and the name in the scaleTargetRef of an autoscaler, unvalidated."""
    defaults = {"apiVersion": "apps/v1", "kind": "Deployment"} if (group(scaler), scaler.kind) == KEDA else {}
    target: dict[str, Any] = {**defaults, **dict(pairs(dig(scaler.body, "spec", "scaleTargetRef")))}
    return str(target.get("apiVersion")).rpartition("/")[0], target.get("kind"), target.get("name")


def _least(scaler: Manifest, declared: int) -> int:
    """Returns the minimum number of replicas of an autoscaler. Only KEDA scales a workload with 0 replicas."""
    if (group(scaler), scaler.kind) == KEDA:
        return count_or(dig(scaler.body, "spec", "minReplicaCount"), 0)
    return count_or(dig(scaler.body, "spec", "minReplicas"), 1) if declared else 0
