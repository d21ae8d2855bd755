"""Decides whether Kueue manages a workload, by the kinds and namespaces in the configuration of Kueue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuc.kubernetes.kueue import POD_FRAMEWORKS
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
_KINDS = {
    kind.lower(): kind
    for kind in (
        *("JobSet", "TrainJob", "MPIJob", "PyTorchJob", "RayJob", "RayCluster"),
        *("LeaderWorkerSet", "Pod", "Deployment", "StatefulSet"),
    )
}
"""Kinds by their names in integrations.frameworks."""


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


def is_managed_kind(cluster: ClusterIndex, workload: Workload) -> bool:
    """Returns whether Kueue manages the kind of a workload. Without a configuration of Kueue, the result is True."""
    configuration = _configuration(cluster)
    known = _frameworks(configuration)
    return configuration is None or _is_external(configuration, workload) or framework(workload) in known


def why_gated(cluster: ClusterIndex, workload: Workload) -> tuple[str, str]:
    """Returns the reason why Kueue never admits the plain pods of a workload, and a fix; otherwise empty strings.

    Kueue's integration of pods gates all pods with a queue name. With manageJobsWithoutQueueName, Kueue also gates the
    pods without a queue name, and never removes the gates.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/pod: pod_webhook.go, Default; pod_controller.go, Skip
    """
    configuration = _configuration(cluster)
    enabling = [name for name in _frameworks(configuration) if name in POD_FRAMEWORKS]
    is_selected = not _excluded(cluster, configuration, workload)
    if configuration is None or not enabling or is_managed_kind(cluster, workload) or not is_selected:
        return "", ""
    if queue_of(cluster, workload):
        if workload.kind not in ("Pod", "ReplicaSet"):
            return "", ""
        reason = f"Kueue gates the pod because of framework {', '.join(enabling)}, but does not admit plain pods"
        return reason, "add pod to integrations.frameworks of Kueue"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return "", ""
    reason = f"framework {', '.join(enabling)} and manageJobsWithoutQueueName: true make Kueue gate every pod"
    return f"the pods have no label {QUEUE_LABEL}; {reason}", "set manageJobsWithoutQueueName of Kueue to false"


def why_unmanaged(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns the reason why Kueue does not manage a workload; an empty string if Kueue manages the workload.

    The pods of a workload that Kueue does not manage go directly to the scheduler. If the input has no configuration
    of Kueue, Kueue is assumed to manage all workloads with a queue name, of any kind.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go; pkg/controller/jobframework/reconciler.go
    """
    configuration = _configuration(cluster)
    if not is_managed_kind(cluster, workload):
        known = ", ".join(_frameworks(configuration))
        return f"Kueue does not manage kind {workload.kind}; Kueue's integrations.frameworks are {known}"
    if queue_of(cluster, workload):
        return ""
    if configuration is None:
        return f"the workload has no label {QUEUE_LABEL}, and by default Kueue ignores such workloads"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return f"the workload has no label {QUEUE_LABEL}, and manageJobsWithoutQueueName is not true"
    if _excluded(cluster, configuration, workload):
        excluded = f"managedJobsNamespaceSelector excludes namespace {workload.namespace}"
        return f"the workload has no label {QUEUE_LABEL}, and {excluded}"
    return ""


def _excluded(cluster: ClusterIndex, configuration: Any, workload: Workload) -> bool:
    """Returns whether managedJobsNamespaceSelector excludes the namespace. An unknown namespace is not excluded."""
    labels = cluster.objects.namespaces.get(workload.namespace)
    raw = dig(configuration, "managedJobsNamespaceSelector")
    return labels is not None and raw is not None and not matches(selector(raw), labels)


def _frameworks(configuration: Any) -> list[str]:
    """Returns the names of the kinds that Kueue manages."""
    return [str(name) for _, name in items(dig(configuration, "integrations", "frameworks"))] or [_BATCH_JOB]


def managed_kind(cluster: ClusterIndex) -> tuple[str, str]:
    """Returns the kind and the API group of a workload that Kueue manages: a Job, if Kueue manages Jobs."""
    known = _frameworks(_configuration(cluster))
    if _BATCH_JOB in known or _configuration(cluster) is None:
        return "Job", "batch"
    api_group, _, kind = known[0].rpartition("/")
    return _KINDS.get(kind, kind), api_group


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
