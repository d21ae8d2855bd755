"""LimitRanges and ResourceQuotas: whether a namespace accepts the pods of a workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Amounts,
    amount,
    amounts,
    counted,
    quantity_text,
)
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload, pod_requests

_PLAIN = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


def container_limits(cluster: ClusterIndex, namespace: str) -> list[Any]:
    """The container limits of a namespace's LimitRanges."""
    return [limit for _, _, limit in _ranges(cluster, namespace, "Container")]


def namespace_steps(cluster: ClusterIndex, workload: Workload, limits: list[Any], total: Amounts) -> Iterator[Step]:
    """Check the pods against the LimitRanges and ResourceQuotas of their namespace.

    Args:
        total: the requests of all pods together.
    """
    found = [*_limit_range_errors(cluster, workload, limits), *_quota_errors(cluster, workload, total)]
    for manifest, path, message in found[:1]:
        yield Step(Stage.NAMESPACE, "failed", message, manifest, path)
    several = [
        *cluster.in_namespace("ResourceQuota", workload.namespace),
        *cluster.in_namespace("LimitRange", workload.namespace),
    ]
    if several:
        names = ", ".join(map(str, several))
        yield Step(Stage.NAMESPACE, "passed", f"the pods are within {names}", several[0])


def _ranges(cluster: ClusterIndex, namespace: str, kind: str) -> Iterator[tuple[Manifest, Path, Any]]:
    for manifest in cluster.in_namespace("LimitRange", namespace):
        for index, limit in items(dig(manifest.body, "spec", "limits")):
            if dig(limit, "type") == kind:
                yield manifest, ("spec", "limits", index), limit


def _limit_range_errors(
    cluster: ClusterIndex, workload: Workload, limits: list[Any]
) -> Iterator[tuple[Manifest, Path, str]]:
    """Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go."""
    for pods in workload.pod_sets:
        for manifest, path, limit in _ranges(cluster, workload.namespace, "Pod"):
            yield from _limit_errors(manifest, path, limit, pod_requests(pods.pod, limits), "a pod")
        for manifest, path, limit in _ranges(cluster, workload.namespace, "Container"):
            for container in _containers(pods):
                requests = pod_requests({"containers": [container]}, limits)
                yield from _limit_errors(manifest, path, limit, requests, f"container {dig(container, 'name')}")


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (container for _, container in items(dig(pods.pod, key)))


def _limit_errors(
    manifest: Manifest, path: Path, limit: Any, requests: Amounts, subject: str
) -> Iterator[tuple[Manifest, Path, str]]:
    for name, most in amounts(dig(limit, "max")).items():
        if (count := requests.get(name, 0)) > most:
            message = f"{subject} requests {counted(name, count)}; the maximum is {quantity_text(name, most)}"
            yield manifest, (*path, "max", name), message
    for name, least in amounts(dig(limit, "min")).items():
        if (count := requests.get(name, 0)) < least:
            message = f"{subject} requests {counted(name, count)}; the minimum is {quantity_text(name, least)}"
            yield manifest, (*path, "min", name), message


def _quota_errors(cluster: ClusterIndex, workload: Workload, total: Amounts) -> Iterator[tuple[Manifest, Path, str]]:
    """Exceeded quotas of requests and pods. Scoped quotas are ignored, because they may not apply to these pods."""
    requests = {**total, PODS: sum(pods.count for pods in workload.pod_sets)}
    for manifest in cluster.in_namespace("ResourceQuota", workload.namespace):
        if dig(manifest.body, "spec", "scopes") or dig(manifest.body, "spec", "scopeSelector"):
            continue
        for key, value in pairs(dig(manifest.body, "spec", "hard")):
            name = _resource(str(key))
            most = amount(name, value) if name else None
            if most is not None and (count := requests.get(name, 0)) > most:
                most_text = quantity_text(name, most)
                message = f"the pods request {counted(name, count)}; the quota of the namespace is {most_text}"
                yield manifest, ("spec", "hard", str(key)), message


def _resource(key: str) -> str:
    """The resource whose requests a quota limits; empty for other quotas."""
    if key in _PLAIN:
        return key
    return key.removeprefix("requests.") if key.startswith("requests.") and key != "requests.storage" else ""
