"""The way into a ClusterQueue: the LocalQueue, the priority class, and whether the queue admits anything."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.trace import advice
from gpuc.trace.cluster_index import KUEUE, ClusterIndex
from gpuc.trace.kueue_scope import queue_of
from gpuc.trace.quota import Node
from gpuc.trace.steps import Stage, Step
from gpuc.trace.work import QUEUE_LABEL, Work

_STOPPED = ("Hold", "HoldAndDrain")
_ALWAYS = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""
_SYSTEM = "system-"
"""How the names of the PriorityClasses begin that every cluster has."""


def local_queue(site: ClusterIndex, work: Work) -> Manifest | None:
    """The LocalQueue that the work is given to."""
    return site.tree.find(KUEUE, "LocalQueue", queue_of(site, work), work.namespace)


def local_queue_step(site: ClusterIndex, work: Work, local: Manifest | None) -> Step:
    """Whether there is a LocalQueue, and it lets anything in."""
    fix = advice.of_local_queue(site, work)
    if not queue_of(site, work):
        message = f"no label {QUEUE_LABEL}: Kueue suspends it for ever"
        return Step(Stage.LOCAL_QUEUE, "failed", message, fix=fix)
    if local is None:
        has_space = not site.tree.is_complete or work.namespace in {*site.tree.namespaces, *_ALWAYS}
        space = f"namespace {work.namespace or '(none)'}" + ("" if has_space else ", which is not there,")
        return Step(Stage.LOCAL_QUEUE, "failed", f"{space} has no LocalQueue {work.queue}", fix=fix)
    stopped = dig(local.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return Step(Stage.LOCAL_QUEUE, "failed", f"stopPolicy is {stopped}", local, ("spec", "stopPolicy"))
    message = f"leads to ClusterQueue {dig(local.body, 'spec', 'clusterQueue')}"
    return Step(Stage.LOCAL_QUEUE, "passed", message, local, ("spec", "clusterQueue"))


def priority_steps(site: ClusterIndex, work: Work) -> Iterator[Step]:
    """Whether the priority classes exist that the work names; no step where it names none.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go, prepareWorkload
    """
    if work.priority:
        kind = "WorkloadPriorityClass"
        if site.tree.find(KUEUE, kind, work.priority) is None:
            known = [each.name for each in site.tree.of(KUEUE, kind)]
            is_known = bool(known) or site.tree.is_complete
            message = f"{kind} {work.priority} is not {'there' if is_known else 'in the tree'}"
            fix = advice.of_name(work.priority, known)
            yield Step(Stage.PRIORITY, "failed" if is_known else "not judged", message, fix=fix)
        return
    for pods in work.pod_sets:
        name = dig(pods.pod, "priorityClassName")
        if not isinstance(name, str) or name.startswith(_SYSTEM):
            continue
        if site.tree.find("scheduling.k8s.io", "PriorityClass", name) is None:
            message = f"PriorityClass {name} is not in the tree: unless the cluster has it, no pod is made"
            yield Step(Stage.PRIORITY, "not judged", message, pods=pods.name)


def cluster_queue_step(site: ClusterIndex, work: Work, queue: Node) -> Step:
    """Whether the ClusterQueue admits anything, and from this namespace.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    found = _inactive(site, queue, manifest)
    labels = site.tree.namespaces.get(work.namespace)
    selected = site.selector(manifest, "spec", "namespaceSelector")
    if found is None and labels is not None and not matches(selected, labels):
        shown = ", ".join(f"{key}={value}" for key, value in labels.items() if not _is_standard(key))
        message = f"its namespaceSelector does not select namespace {work.namespace} ({shown or 'no labels'})"
        found = message, ("spec", "namespaceSelector")
    if found is not None:
        return Step(Stage.CLUSTER_QUEUE, "failed", found[0], manifest, found[1])
    if labels is None:
        message = f"is active; Namespace {work.namespace} is not in the tree, so its labels are not judged"
        return Step(Stage.CLUSTER_QUEUE, "not judged", message, manifest, ("spec", "namespaceSelector"))
    message = f"is active and selects namespace {work.namespace}"
    return Step(Stage.CLUSTER_QUEUE, "passed", message, manifest, ("spec", "namespaceSelector"))


def _inactive(site: ClusterIndex, queue: Node, manifest: Manifest) -> tuple[str, Path] | None:
    stopped = dig(manifest.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return f"stopPolicy is {stopped}", ("spec", "stopPolicy")
    for g, group in items(dig(manifest.body, "spec", "resourceGroups")):
        for f, each in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f, "name")
            flavor = site.flavor(str(dig(each, "name")))
            if flavor is None:
                return f"ResourceFlavor {dig(each, 'name')} is not there: the queue admits nothing", path
            named = dig(flavor.body, "spec", "topologyName")
            if named is not None and site.topology(flavor) is None:
                return f"Topology {named} of flavor {flavor.name} is not there: the queue admits nothing", path
    return None


def _is_standard(key: str) -> bool:
    return key.startswith(("kubernetes.io/", "pod-security.kubernetes.io/"))
