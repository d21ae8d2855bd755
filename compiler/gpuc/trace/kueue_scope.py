"""Whether Kueue manages a workload, by the kinds and namespaces in its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuc.kubernetes.selector import matches
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.selectors import selector
from gpuc.trace.cluster_index import KUEUE, ClusterIndex
from gpuc.trace.workload import QUEUE_LABEL, Workload

_API = "config.kueue.x-k8s.io"
_IN_VALUES = ("kueue", "managerConfig", "controllerManagerConfigYaml")
DEFAULT_QUEUE = "default"
"""The LocalQueue of a workload without a queue name, if its namespace has a LocalQueue with this name.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go
"""
_BATCH_JOB = "batch/job"


def how_to_manage(reason: str, workload: Workload) -> str:
    """What to change so that Kueue manages the workload."""
    if QUEUE_LABEL in reason:
        return f"set the label {QUEUE_LABEL} to the name of a LocalQueue"
    return f"use a kind that Kueue manages, or add {framework(workload)} to its frameworks"


def queue_of(cluster: ClusterIndex, workload: Workload) -> str:
    """The name of the LocalQueue of a workload; empty if it has none."""
    has_default = cluster.objects.find(KUEUE, "LocalQueue", DEFAULT_QUEUE, workload.namespace) is not None
    return workload.queue or (DEFAULT_QUEUE if has_default else "")


def why_unmanaged(cluster: ClusterIndex, workload: Workload) -> str:
    """Why Kueue does not manage a workload, so that its pods go to the scheduler; empty if Kueue manages it.

    Without Kueue's configuration, Kueue is assumed to manage all kinds, and only workloads with a queue name.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go; pkg/controller/jobframework/reconciler.go
    """
    configuration = _configuration(cluster)
    known = [str(name) for _, name in items(dig(configuration, "integrations", "frameworks"))] or [_BATCH_JOB]
    if configuration is not None and not _is_external(configuration, workload) and framework(workload) not in known:
        return f"Kueue does not manage kind {workload.kind}; its integrations.frameworks are {', '.join(known)}"
    if queue_of(cluster, workload):
        return ""
    if configuration is None:
        return f"the workload has no label {QUEUE_LABEL}, and by default Kueue ignores such workloads"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return f"the workload has no label {QUEUE_LABEL}, and manageJobsWithoutQueueName is not set"
    labels = cluster.objects.namespaces.get(workload.namespace)
    raw = dig(configuration, "managedJobsNamespaceSelector")
    if labels is not None and raw is not None and not matches(selector(raw), labels):
        return f"the workload has no label {QUEUE_LABEL}, and managedJobsNamespaceSelector excludes its namespace"
    return ""


def framework(workload: Workload) -> str:
    """The name of a kind in integrations.frameworks."""
    kind = workload.kind.lower()
    match workload.api_group:
        case "":
            return kind
        case "batch":
            return _BATCH_JOB
        case "apps":
            return "pod" if kind == "replicaset" else kind
    return f"{workload.api_group}/{kind}"


def _is_external(configuration: Any, workload: Workload) -> bool:
    """Whether externalFrameworks lists the kind, as Kind.version.group."""
    several = [str(name) for _, name in items(dig(configuration, "integrations", "externalFrameworks"))]
    return any(name.startswith(f"{workload.kind}.") and name.endswith(f".{workload.api_group}") for name in several)


@lru_cache(maxsize=1)
def _configuration(cluster: ClusterIndex) -> Any:
    """Kueue's configuration; None if it is missing or is not YAML."""
    for text in _texts(cluster):
        found = document(cluster.objects, text)
        if str(dig(found, "apiVersion")).startswith(_API) and dig(found, "kind") == "Configuration":
            return found
    return None


def _texts(cluster: ClusterIndex) -> Iterator[str]:
    text = dig(cluster.objects.values, *_IN_VALUES)
    if isinstance(text, str):
        yield text
    for config_map in cluster.objects.of("", "ConfigMap"):
        yield from (
            str(text) for _, text in pairs(config_map.body.get("data")) if isinstance(text, str) and _API in text
        )
