"""Objects of a file that are meant as workloads, but from which no pods can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpuc.diagnostics.spelling import misspelt
from gpuc.kubernetes.pod_template import TEMPLATES
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import dig, group, pairs
from gpuc.objects.pods import pods_of
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload, count_or

_SERVED: Mapping[str, str] = {
    **{"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"},
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet"), "apps/v1"),
}
"""The only apiVersion of each built-in kind of workloads.

Kubernetes 1.16 removed extensions/v1beta1, apps/v1beta1 and apps/v1beta2 of these kinds; 1.25 removed batch/v1beta1.

Source: k8s.io/api v0.35.4 apps/v1, batch/v1, core/v1 (register.go); Kubernetes documentation, Deprecated API Migration
Guide
"""
_NO_PODS = ("PodTemplate",)
"""Kinds with a pod template from which no controller creates pods."""
_SCALED_KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet")
_HPA = ("autoscaling", "HorizontalPodAutoscaler")
_KEDA = ("keda.sh", "ScaledObject")


def unserved(manifest: Manifest) -> Step | None:
    """Returns the failed step for a built-in kind of workloads in an apiVersion that the API server does not serve.

    Returns None for a served apiVersion, and for kinds of CustomResourceDefinitions.
    """
    served = _SERVED.get(manifest.kind, manifest.api)
    if manifest.api == served or "." in group(manifest):
        return None
    message = f"the API server does not serve kind {manifest.kind} in apiVersion {manifest.api}"
    return Step(Stage.API, "failed", message, fix=f"set apiVersion to {served}", field=("apiVersion",))


def workload_without_pods(manifest: Manifest, document: Body) -> Workload | None:
    """Returns a workload without pod sets for an object of a built-in kind of workloads; None for other kinds.

    The API server refuses the object, because the apiVersion is wrong or because the object has no pod template.
    """
    if manifest.kind not in _SERVED or "." in group(manifest):
        return None
    api_group = group(manifest)
    return Workload((), manifest.namespace, "", manifest.kind, api_group, manifest.name, object=document)


def why_not_traced(manifest: Manifest) -> str:
    """Returns the reason why an object with pods, or perhaps with pods, is not traced; empty for an object without."""
    if manifest.kind == "TrainJob":
        return "its pods come from a runtime: trace the JobSet that the TrainJob creates"
    if any(pods_of(manifest)) and manifest.kind not in _NO_PODS:
        return f"gpuc does not trace kind {manifest.kind}"
    kinds = {kind.rpartition("/")[2] for kind in TEMPLATES}
    if manifest.kind not in kinds and (meant := misspelt(manifest.kind, sorted(kinds))):
        return f"the kind {manifest.kind} is unknown (did you mean {meant}?)"
    if f"{group(manifest)}/{manifest.kind}" in TEMPLATES:
        return "gpuc finds no pod template in the object"
    return ""


def with_replicas_of_autoscalers(
    manifest: Manifest, namespaces: Iterable[str], objects: Iterable[Manifest]
) -> tuple[Manifest, str]:
    """Returns a workload with the replicas that autoscalers run at least, and a sentence about the autoscaler.

    The sentence is empty, and the workload is unchanged, if no autoscaler runs more replicas. Metrics can lead to still
    more replicas, up to the maximum of the autoscaler.

    Args:
        namespaces: the namespaces in which an autoscaler can scale the workload.
        objects: objects with the autoscalers.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/podautoscaler/horizontal.go, reconcileAutoscaler; kedacore/keda
    commit 01305c8 pkg/scaling/executor/scale_scaledobjects.go, RequestScale
    """
    declared = count_or(dig(manifest.body, "spec", "replicas"), 1)
    scalers = [scaler for scaler in objects if scaler.namespace in namespaces and _scales(scaler, manifest)]
    least = {str(scaler): _least(scaler, declared) for scaler in scalers}
    if manifest.kind not in _SCALED_KINDS or max(least.values(), default=0) <= declared:
        return manifest, ""
    name = max(least, key=lambda scaler: least[scaler])
    spec = {**dict(pairs(manifest.body.get("spec"))), "replicas": least[name]}
    sentence = f"{name} runs at least {least[name]} replicas; the {manifest.kind} declares {declared}"
    return replace(manifest, body={**manifest.body, "spec": spec}), sentence


def _scales(scaler: Manifest, manifest: Manifest) -> bool:
    """Returns whether an object is an autoscaler whose scaleTargetRef names a workload."""
    kind = group(scaler), scaler.kind
    if kind not in (_HPA, _KEDA):
        return False
    defaults = {"apiVersion": "apps/v1", "kind": "Deployment"} if kind == _KEDA else {}
    target: dict[str, Any] = {**defaults, **dict(pairs(dig(scaler.body, "spec", "scaleTargetRef")))}
    named = str(target.get("apiVersion")).rpartition("/")[0], target.get("kind"), target.get("name")
    return named == (group(manifest), manifest.kind, manifest.name)


def _least(scaler: Manifest, declared: int) -> int:
    """Returns the minimum number of replicas of an autoscaler. Only KEDA scales a workload with 0 replicas."""
    if (group(scaler), scaler.kind) == _KEDA:
        return count_or(dig(scaler.body, "spec", "minReplicaCount"), 0)
    return count_or(dig(scaler.body, "spec", "minReplicas"), 1) if declared else 0
