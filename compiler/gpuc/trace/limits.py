"""What a namespace allows its pods: LimitRanges and ResourceQuotas."""

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
from gpuc.trace.work import PodSet, Work, requests

_PLAIN = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


def container_limits(site: ClusterIndex, namespace: str) -> list[Any]:
    """The limits of a namespace's LimitRanges that are about containers."""
    return [each for _, _, each in _ranges(site, namespace, "Container")]


def namespace_steps(site: ClusterIndex, work: Work, limits: list[Any], total: Amounts) -> Iterator[Step]:
    """Whether the pods may be made in their namespace: every bound of its LimitRanges and ResourceQuotas.

    Args:
        total: what all pods ask for together.
    """
    found = [*_out_of_range(site, work, limits), *_beyond_quota(site, work, total)]
    for manifest, path, message in found[:1]:
        yield Step(Stage.NAMESPACE, "failed", message, manifest, path)
    several = [*site.inside("ResourceQuota", work.namespace), *site.inside("LimitRange", work.namespace)]
    if several:
        names = ", ".join(map(str, several))
        yield Step(Stage.NAMESPACE, "passed", f"within {names}", several[0])


def _ranges(site: ClusterIndex, namespace: str, kind: str) -> Iterator[tuple[Manifest, Path, Any]]:
    for manifest in site.inside("LimitRange", namespace):
        for index, each in items(dig(manifest.body, "spec", "limits")):
            if dig(each, "type") == kind:
                yield manifest, ("spec", "limits", index), each


def _out_of_range(site: ClusterIndex, work: Work, limits: list[Any]) -> Iterator[tuple[Manifest, Path, str]]:
    """Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go."""
    for pods in work.pod_sets:
        for manifest, path, each in _ranges(site, work.namespace, "Pod"):
            yield from _bounds(manifest, path, each, requests(pods.pod, limits), "a pod")
        for manifest, path, each in _ranges(site, work.namespace, "Container"):
            for container in _containers(pods):
                asked = requests({"containers": [container]}, limits)
                yield from _bounds(manifest, path, each, asked, f"container {dig(container, 'name')}")


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (each for _, each in items(dig(pods.pod, key)))


def _bounds(
    manifest: Manifest, path: Path, limit: Any, asked: Amounts, what: str
) -> Iterator[tuple[Manifest, Path, str]]:
    for name, most in amounts(dig(limit, "max")).items():
        if (count := asked.get(name, 0)) > most:
            message = f"{what} asks for {counted(name, count)}, at most {quantity_text(name, most)} is allowed"
            yield manifest, (*path, "max", name), message
    for name, least in amounts(dig(limit, "min")).items():
        if (count := asked.get(name, 0)) < least:
            message = f"{what} asks for {counted(name, count)}, at least {quantity_text(name, least)} is needed"
            yield manifest, (*path, "min", name), message


def _beyond_quota(site: ClusterIndex, work: Work, total: Amounts) -> Iterator[tuple[Manifest, Path, str]]:
    """Bounds of requests and of the number of pods; scoped quotas are left out, they may not be about these pods."""
    asked = {**total, PODS: sum(pods.count for pods in work.pod_sets)}
    for manifest in site.inside("ResourceQuota", work.namespace):
        if dig(manifest.body, "spec", "scopes") or dig(manifest.body, "spec", "scopeSelector"):
            continue
        for key, value in pairs(dig(manifest.body, "spec", "hard")):
            name = _resource(str(key))
            most = amount(name, value) if name else None
            if most is not None and (count := asked.get(name, 0)) > most:
                most_text = quantity_text(name, most)
                message = f"the pods ask for {counted(name, count)}, the namespace may have {most_text}"
                yield manifest, ("spec", "hard", str(key)), message


def _resource(key: str) -> str:
    """The resource whose requests a quota bounds; empty for quotas of something else."""
    if key in _PLAIN:
        return key
    return key.removeprefix("requests.") if key.startswith("requests.") and key != "requests.storage" else ""
