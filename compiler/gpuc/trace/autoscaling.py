"""Autoscalers that run more replicas of a workload than the workload declares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, pairs
from gpuc.trace.workload import count_or

_SCALED_KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet")
_HPA = ("autoscaling", "HorizontalPodAutoscaler")
_KEDA = ("keda.sh", "ScaledObject")


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
    """Returns the minimum number of replicas of an autoscaler.

    A HorizontalPodAutoscaler does not scale a workload with 0 replicas, if its own minimum is not 0. KEDA also scales
    such a workload.
    """
    if (group(scaler), scaler.kind) == _KEDA:
        return count_or(dig(scaler.body, "spec", "minReplicaCount"), 0)
    return count_or(dig(scaler.body, "spec", "minReplicas"), 1) if declared else 0
