"""Checks the pods of a workload against the LimitRanges and ResourceQuotas of their namespace."""

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

_REQUEST_KEYS = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""The keys of a ResourceQuota that limit requests and have no prefix "requests."."""


def container_limits(cluster: ClusterIndex, namespace: str) -> list[Any]:
    """Returns the limits of type Container in the LimitRanges of a namespace."""
    return [limit for _, _, limit in _typed_limits(cluster, namespace, "Container")]


def namespace_steps(cluster: ClusterIndex, workload: Workload, limits: list[Any], total: Amounts) -> Iterator[Step]:
    """Yields a failed step for the first limit that the pods exceed, then a passed step if the namespace has limits.

    Args:
        limits: the result of container_limits.
        total: the requests of all pods together.
    """
    pods = sum(pods.count for pods in workload.pod_sets)
    errors = [*_limit_range_errors(cluster, workload, limits), *_quota_errors(cluster, workload, total, pods)]
    for manifest, path, message in errors[:1]:
        yield Step(Stage.NAMESPACE, "failed", message, manifest, path)
    manifests = [
        *cluster.in_namespace("ResourceQuota", workload.namespace),
        *cluster.in_namespace("LimitRange", workload.namespace),
    ]
    if manifests:
        names = ", ".join(map(str, manifests))
        yield Step(Stage.NAMESPACE, "passed", f"the pods do not exceed {names}", manifests[0])


def replica_steps(cluster: ClusterIndex, workload: Workload, replica: Amounts) -> Iterator[Step]:
    """Yields a failed step if a ResourceQuota is too small for all replicas of a workload outside of Kueue.

    Args:
        replica: the requests of all pods of one replica.
    """
    everything = {name: count * workload.copies for name, count in replica.items()}
    pods = sum(pods.count for pods in workload.pod_sets)
    for manifest, path, _ in _quota_errors(cluster, workload, everything, pods * workload.copies):
        name = limited_resource(str(path[-1]))
        quota = amount(name, dig(manifest.body, *path)) or 0
        count = quota // (replica.get(name) or pods)
        message = f"only {count} of {workload.copies} replicas do not exceed {manifest}"
        yield Step(Stage.NAMESPACE, "failed", message, manifest, path, fix=f"run at most {count} replicas")
        return


def _typed_limits(cluster: ClusterIndex, namespace: str, type_: str) -> Iterator[tuple[Manifest, Path, Any]]:
    """Yields the LimitRange, path and value of every limit of a type: Pod or Container."""
    for manifest in cluster.in_namespace("LimitRange", namespace):
        for index, limit in items(dig(manifest.body, "spec", "limits")):
            if dig(limit, "type") == type_:
                yield manifest, ("spec", "limits", index), limit


def _limit_range_errors(
    cluster: ClusterIndex, workload: Workload, limits: list[Any]
) -> Iterator[tuple[Manifest, Path, str]]:
    """Yields every limit of a LimitRange that pods or containers exceed.

    Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go
    """
    for pods in workload.pod_sets:
        for manifest, path, limit in _typed_limits(cluster, workload.namespace, "Pod"):
            yield from _limit_errors(manifest, path, limit, pod_requests(pods.pod, limits), "a pod")
        for manifest, path, limit in _typed_limits(cluster, workload.namespace, "Container"):
            for container in _containers(pods):
                requests = pod_requests({"containers": [container]}, limits)
                yield from _limit_errors(manifest, path, limit, requests, f"container {dig(container, 'name')}")


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (container for _, container in items(dig(pods.pod, key)))


def _limit_errors(
    manifest: Manifest, path: Path, limit: Any, requests: Amounts, subject: str
) -> Iterator[tuple[Manifest, Path, str]]:
    """Yields the errors of one limit.

    Args:
        subject: the pod or container in words, for the message.
    """
    for name, maximum in amounts(dig(limit, "max")).items():
        if (count := requests.get(name, 0)) > maximum:
            message = f"{subject} requests {counted(name, count)}; the maximum is {quantity_text(name, maximum)}"
            yield manifest, (*path, "max", name), message
    for name, minimum in amounts(dig(limit, "min")).items():
        if (count := requests.get(name, 0)) < minimum:
            message = f"{subject} requests {counted(name, count)}; the minimum is {quantity_text(name, minimum)}"
            yield manifest, (*path, "min", name), message


def _quota_errors(
    cluster: ClusterIndex, workload: Workload, total: Amounts, pods: int
) -> Iterator[tuple[Manifest, Path, str]]:
    """Yields the exceeded quotas of requests and pods.

    ResourceQuotas with scopes are ignored, because these quotas may not apply to the pods.
    """
    requests = {**total, PODS: pods}
    for manifest in cluster.in_namespace("ResourceQuota", workload.namespace):
        if dig(manifest.body, "spec", "scopes") or dig(manifest.body, "spec", "scopeSelector"):
            continue
        for key, value in pairs(dig(manifest.body, "spec", "hard")):
            name = limited_resource(str(key))
            quota = amount(name, value) if name else None
            if quota is not None and (count := requests.get(name, 0)) > quota:
                allowed = quantity_text(name, quota)
                message = f"the pods request {counted(name, count)}; the quota of the namespace is {allowed}"
                yield manifest, ("spec", "hard", str(key)), message


def limited_resource(key: str) -> str:
    """Returns the resource whose requests a key of a ResourceQuota limits; an empty string for other keys."""
    if key in _REQUEST_KEYS:
        return key
    return key.removeprefix("requests.") if key.startswith("requests.") and key != "requests.storage" else ""
