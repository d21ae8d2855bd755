"""Checks the LocalQueue, the priority class and the ClusterQueue of a workload."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.trace import advice
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.kueue_scope import queue_of
from gpuc.trace.quota import Node
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload

_STOPPED = ("Hold", "HoldAndDrain")
SYSTEM_PREFIX = "system-"
"""The prefix of the PriorityClasses that every cluster has."""


def local_queue(cluster: ClusterIndex, workload: Workload) -> Manifest | None:
    """Returns the LocalQueue of a workload; None if it does not exist."""
    return cluster.objects.find(GROUP, "LocalQueue", queue_of(cluster, workload), workload.namespace)


def local_queue_step(cluster: ClusterIndex, workload: Workload, local: Manifest | None) -> Step:
    """Checks that the LocalQueue exists and that no stopPolicy stops it."""
    fix = advice.for_local_queue(cluster, workload)
    if not queue_of(cluster, workload):
        message = f"the workload has no label {QUEUE_LABEL}, so Kueue suspends the workload forever"
        return Step(Stage.LOCAL_QUEUE, "failed", message, fix=fix)
    if local is None:
        message = f"namespace {workload.namespace or '(none)'} has no LocalQueue {queue_of(cluster, workload)}"
        return Step(Stage.LOCAL_QUEUE, "failed", message, fix=fix)
    stopped = dig(local.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return Step(Stage.LOCAL_QUEUE, "failed", f"{local} has stopPolicy {stopped}", local, ("spec", "stopPolicy"))
    message = f"{local} uses ClusterQueue {dig(local.body, 'spec', 'clusterQueue')}"
    return Step(Stage.LOCAL_QUEUE, "passed", message, local, ("spec", "clusterQueue"))


def priority_steps(cluster: ClusterIndex, workload: Workload) -> Iterator[Step]:
    """Checks that the priority class of a workload exists; yields no step for a workload without a priority class.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go, prepareWorkload
    """
    if workload.priority:
        kind = "WorkloadPriorityClass"
        if cluster.objects.find(GROUP, kind, workload.priority) is None:
            known = [priority_class.name for priority_class in cluster.objects.of(GROUP, kind)]
            is_known = bool(known) or cluster.objects.is_complete
            message = f"{kind} {workload.priority} {'does not exist' if is_known else 'is not in the input'}"
            fix = advice.for_name(f"the label {PRIORITY_LABEL}", workload.priority, known)
            yield Step(Stage.PRIORITY, "failed" if is_known else "unknown", message, fix=fix)
        return
    for pods in workload.pod_sets:
        name = dig(pods.pod, "priorityClassName")
        if not isinstance(name, str) or name.startswith(SYSTEM_PREFIX):
            continue
        if cluster.objects.find("scheduling.k8s.io", "PriorityClass", name) is None:
            message = f"PriorityClass {name} is not in the input; if it does not exist, the API server rejects the pods"
            yield Step(Stage.PRIORITY, "unknown", message, pods=pods.name)


def cluster_queue_step(cluster: ClusterIndex, workload: Workload, queue: Node) -> Step:
    """Checks that the ClusterQueue is active and accepts workloads of the namespace.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    problem = _inactivity(cluster, manifest)
    labels = cluster.objects.namespaces.get(workload.namespace)
    selected = cluster.selector(manifest, "spec", "namespaceSelector")
    if problem is None and labels is not None and not matches(selected, labels):
        shown = ", ".join(f"{key}={value}" for key, value in labels.items() if not _is_standard(key))
        namespace = f"namespace {workload.namespace} ({shown or 'no labels'})"
        message = f"the namespaceSelector of {manifest} does not match {namespace}"
        problem = message, ("spec", "namespaceSelector")
    if problem is not None:
        return Step(Stage.CLUSTER_QUEUE, "failed", problem[0], manifest, problem[1])
    if labels is None:
        message = f"{manifest} is active; the labels of namespace {workload.namespace} are unknown"
        return Step(Stage.CLUSTER_QUEUE, "unknown", message, manifest, ("spec", "namespaceSelector"))
    message = f"{manifest} is active and accepts namespace {workload.namespace}"
    return Step(Stage.CLUSTER_QUEUE, "passed", message, manifest, ("spec", "namespaceSelector"))


def _inactivity(cluster: ClusterIndex, manifest: Manifest) -> tuple[str, Path] | None:
    """Returns the reason why a ClusterQueue is inactive, with its path; None if the ClusterQueue is active."""
    stopped = dig(manifest.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return f"{manifest} has stopPolicy {stopped}", ("spec", "stopPolicy")
    for g, group in items(dig(manifest.body, "spec", "resourceGroups")):
        for f, row in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f, "name")
            flavor = cluster.flavor(str(dig(row, "name")))
            if flavor is None:
                return f"ResourceFlavor {dig(row, 'name')} does not exist, so {manifest} is inactive", path
            topology = dig(flavor.body, "spec", "topologyName")
            if topology is not None and cluster.topology(flavor) is None:
                return (
                    f"Topology {topology} of flavor {flavor.name} does not exist, so {manifest} is inactive",
                    path,
                )
    return None


def _is_standard(key: str) -> bool:
    return key.startswith(("kubernetes.io/", "pod-security.kubernetes.io/"))
