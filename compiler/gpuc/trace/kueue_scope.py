"""Decides whether Kueue manages a workload, by the kinds and namespaces in the configuration of Kueue."""

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
_VALUES_PATH = ("kueue", "managerConfig", "controllerManagerConfigYaml")
DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue uses for a workload without a queue name, if the namespace has this LocalQueue.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go
"""
_BATCH_JOB = "batch/job"


def how_to_manage(reason: str, workload: Workload) -> str:
    """Returns the change with which Kueue manages the workload.

    Args:
        reason: the result of why_unmanaged.
    """
    if QUEUE_LABEL in reason:
        return f"set the label {QUEUE_LABEL} to the name of a LocalQueue"
    return f"use a kind that Kueue manages, or add {framework(workload)} to integrations.frameworks of Kueue"


def queue_of(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns the name of the LocalQueue of a workload; an empty string if the workload has no LocalQueue."""
    has_default = cluster.objects.find(KUEUE, "LocalQueue", DEFAULT_QUEUE, workload.namespace) is not None
    return workload.queue or (DEFAULT_QUEUE if has_default else "")


def why_unmanaged(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns the reason why Kueue does not manage a workload; an empty string if Kueue manages the workload.

    The pods of a workload that Kueue does not manage go directly to the scheduler. If the input has no configuration
    of Kueue, Kueue is assumed to manage all workloads with a queue name, of any kind.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go; pkg/controller/jobframework/reconciler.go
    """
    configuration = _configuration(cluster)
    known = [str(name) for _, name in items(dig(configuration, "integrations", "frameworks"))] or [_BATCH_JOB]
    if configuration is not None and not _is_external(configuration, workload) and framework(workload) not in known:
        return f"Kueue does not manage kind {workload.kind}; Kueue's integrations.frameworks are {', '.join(known)}"
    if queue_of(cluster, workload):
        return ""
    if configuration is None:
        return f"the workload has no label {QUEUE_LABEL}, and by default Kueue ignores such workloads"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return f"the workload has no label {QUEUE_LABEL}, and manageJobsWithoutQueueName is not set"
    labels = cluster.objects.namespaces.get(workload.namespace)
    raw = dig(configuration, "managedJobsNamespaceSelector")
    if labels is not None and raw is not None and not matches(selector(raw), labels):
        excluded = f"managedJobsNamespaceSelector excludes namespace {workload.namespace}"
        return f"the workload has no label {QUEUE_LABEL}, and {excluded}"
    return ""


def framework(workload: Workload) -> str:
    """Returns the name of the workload's kind in integrations.frameworks."""
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
    """Returns whether externalFrameworks lists the kind, as Kind.version.group."""
    names = [str(name) for _, name in items(dig(configuration, "integrations", "externalFrameworks"))]
    return any(name.startswith(f"{workload.kind}.") and name.endswith(f".{workload.api_group}") for name in names)


@lru_cache(maxsize=1)
def _configuration(cluster: ClusterIndex) -> Any:
    """Returns the configuration of Kueue; None if the input does not have it or it is not YAML."""
    for text in _configuration_texts(cluster):
        parsed = document(cluster.objects, text)
        if str(dig(parsed, "apiVersion")).startswith(_API) and dig(parsed, "kind") == "Configuration":
            return parsed
    return None


def _configuration_texts(cluster: ClusterIndex) -> Iterator[str]:
    """Yields the texts that can be the configuration: from the Helm values, then from ConfigMaps."""
    text = dig(cluster.objects.values, *_VALUES_PATH)
    if isinstance(text, str):
        yield text
    for config_map in cluster.objects.of("", "ConfigMap"):
        yield from (
            str(text) for _, text in pairs(config_map.body.get("data")) if isinstance(text, str) and _API in text
        )
