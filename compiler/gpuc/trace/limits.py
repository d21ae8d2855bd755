"""The defaults of LimitRanges, and the resources that the keys of ResourceQuotas limit."""

from __future__ import annotations

from typing import Any

from gpuc.admission.limit_ranges import effective_limits
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from gpuc.trace.cluster_index import ClusterIndex

_REQUEST_KEYS = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""The keys of a ResourceQuota that limit requests and have no prefix "requests."."""


def container_limits(cluster: ClusterIndex, namespace: str) -> list[Any]:
    """Returns the limits of type Container in the LimitRanges of a namespace, with the defaults of the API server."""
    return [
        limit
        for manifest in cluster.in_namespace("LimitRange", namespace)
        for _, limit in effective_limits(manifest)
        if limit.get("type") == "Container"
    ]


def limited_resource(key: str) -> str:
    """Returns the resource whose requests a key of a ResourceQuota limits; an empty string for other keys."""
    if key in _REQUEST_KEYS:
        return key
    return key.removeprefix("requests.") if key.startswith("requests.") and key != "requests.storage" else ""
