"""Queues and flavors through which no pod can go: the smallest pod of each is taken through the objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import CPU, MEMORY, Amounts, described, places, quantity_text
from gpuc.lint.checks.scheduling.policy_conflicts import shut_out
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.limits import container_limits, namespace_steps
from gpuc.trace.nodes import MatchingPool, matching_pools, max_pods, pod_demand
from gpuc.trace.quota import Node
from gpuc.trace.steps import Stage
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import QUEUE_LABEL, PodSet, Workload, pod_requests, workload_of

NOTHING_TO_HAVE = declare_rule(
    "SCD001", Severity.WARNING, "A ClusterQueue names a flavor of which it can never have anything.",
    "Its quota is zero and nobody lends: every pod that selects the flavor is refused.",
    "kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go",
)  # fmt: skip
UNADVERTISED = declare_rule(
    "SCD002", Severity.ERROR, "A queue has quota of a resource that no node of the flavor advertises.",
    "Kueue admits the work, and Karpenter starts no node for it: the pods hold the quota and wait for ever.",
    "sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaim.go",
)  # fmt: skip
NO_NODE = declare_rule(
    "SCD003", Severity.ERROR, "The limits or requirements of a node pool allow not one node of its instance types.",
    "Karpenter starts nothing: all pods of the pool wait for ever.",
    "sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go, filterByRemainingResources",
)  # fmt: skip
CLOSED_NAMESPACE = declare_rule(
    "SCD005", Severity.ERROR, "A namespace's limits allow not the smallest pod of a queue that stands in it.",
    "Kueue admits the work and the API server refuses its pods: the quota is held by nothing.",
    "k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger and pkg/quota",
)  # fmt: skip
NEVER_STARTS = declare_rule(
    "SCD006", Severity.ERROR, "Work of these files can never start.",
    "It is refused, or admitted and then pending for ever, even in an empty cluster. `gpuc trace -f FILE` shows why.",
)  # fmt: skip
NOT_BY_THESE_FILES = declare_rule(
    "SCD007", Severity.WARNING, "Work can never start by what these files say of quota, resources and nodes.",
    "It waits for ever unless other files lend quota, make nodes with the same labels, or let Kueue look away.",
)  # fmt: skip
_KARPENTER_KNOWS = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa", "hugepages-")
"""Resources for which Karpenter starts no node unless it knows of them: others, some agent may bring."""
_DEVICES = ("nvidia.com/", "amd.com/")
_TOLD_BY_OTHERS = (
    Stage.API, Stage.LOCAL_QUEUE, Stage.CLUSTER_QUEUE, Stage.PRIORITY, Stage.POLICY, Stage.NODE_POOL, Stage.STARTUP
)  # fmt: skip
"""Steps whose failures follow from one object alone, or from its reference to another: other judges tell them."""
_OPEN = (Stage.RESOURCES, Stage.QUOTA, Stage.TOPOLOGY, Stage.NODE)
"""Steps at which other files of the cluster may let work through."""


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Flavors and namespaces through which not even the smallest pod of a queue can go, and work that never starts.

    References to what is not there, labels that no pool gives and taints that nobody tolerates are told by others.
    """
    site = ClusterIndex(tree)
    if not site.quotas:
        return
    told: set[tuple[str, int, Path]] = set()
    for finding in chain(*(_of_queue(site, queue) for queue in site.quotas.values()), _never_starts(site)):
        key = finding.rule.id, id(finding.manifest), finding.path
        if key not in told:
            told.add(key)
            yield finding


def _of_queue(site: ClusterIndex, queue: Node) -> Iterator[ObjectFinding]:
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    smallest: dict[str, tuple[Manifest, dict[str, Amounts]]] = {}
    for g, group in items(dig(manifest.body, "spec", "resourceGroups")):
        for f, each in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f)
            flavor = site.flavor(str(dig(each, "name")))
            if flavor is None:
                continue
            own = _smallest(queue, flavor.name, each)
            smallest[flavor.name] = flavor, own
            if not own and flavor.name in site.closed_flavors:
                continue  # its pool is taken away
            if not own and dig(each, "resources"):
                yield from _nothing_to_have(site, queue, manifest, path)
            yield from _of_flavor(site, manifest, path, flavor, own)
    yield from _closed(site, manifest, [pod for _, own in smallest.values() for pod in own.values()])
    if site.objects.is_complete:
        yield from shut_out(site, queue, smallest)


def _never_starts(site: ClusterIndex) -> Iterator[ObjectFinding]:
    for manifest in site.objects.manifests:
        if manifest.labels.get(QUEUE_LABEL) is None or (work := workload_of(manifest)) is None:
            continue
        step = trace_workload(site, work, policies=False).failure
        if step is None or step.stage in _TOLD_BY_OTHERS:
            continue
        found = NEVER_STARTS if site.objects.is_complete or step.stage not in _OPEN else NOT_BY_THESE_FILES
        by = f", by {step.manifest}" if step.manifest is not None and step.manifest is not manifest else ""
        yield ObjectFinding(found, manifest, ("spec",), f"{step.stage.value}{by}: {step.message}")


def _smallest(queue: Node, flavor: str, quotas: Any) -> dict[str, Amounts]:
    """By resource of which the queue can have any in a flavor, the smallest pod that asks for it."""
    names = [str(dig(each, "name")) for _, each in items(dig(quotas, "resources"))]
    able = {name for name in names if queue.capacity((flavor, name)) > 0}
    base = {name: count for name, count in ((CPU, 1), (MEMORY, 2**20)) if name in able}
    pieces = [name for name in names if name in able and name not in (CPU, MEMORY, "ephemeral-storage", "pods")]
    return {name: {**base, name: _piece(name)} for name in pieces} or ({"": base} if able else {})


def _piece(resource: str) -> int:
    """The least that a pod can ask for: huge pages come in whole ones."""
    page = {"hugepages-2Mi": 2 * 2**20, "hugepages-1Gi": 2**30}
    return page.get(resource, 1)


def _nothing_to_have(site: ClusterIndex, queue: Node, manifest: Manifest, path: Path) -> Iterator[ObjectFinding]:
    if site.objects.is_complete or queue.parent is None:
        yield ObjectFinding(
            NOTHING_TO_HAVE, manifest, path, "no resource of it has any quota, and nothing can be borrowed"
        )


def _of_flavor(
    site: ClusterIndex, queue: Manifest, path: Path, flavor: Manifest, pods: dict[str, Amounts]
) -> Iterator[ObjectFinding]:
    if not site.pools or not dig(flavor.body, "spec", "nodeLabels"):
        return
    want = pod_demand({}, 1, {}, [flavor])
    found, _ = matching_pools(site, want)
    if not found:
        return
    if all(each.pool.is_known for each in found) and not any(max_pods(each, want) for each in found):
        yield _no_node(found[0])
        return
    for name, pod in pods.items():
        yield from _unadvertised(site, queue, path, flavor, found, name, pod)
    topology = dig(flavor.body, "spec", "topologyName")
    checks = dig(queue.body, "spec", "admissionChecksStrategy")
    if (
        site.objects.is_complete
        and topology is not None
        and not checks
        and not any(each.pool.replicas for each in found)
    ):
        from gpuc.rules.queues.topology_without_lasting_nodes import topology_without_lasting_nodes

        pools = ", ".join(each.pool.name for each in found)
        message = f"topology {topology} needs nodes that exist, and node pool {pools} keeps none (spec.replicas)"
        yield ObjectFinding(topology_without_lasting_nodes.rule, flavor, ("spec", "topologyName"), message)


def _no_node(entry: MatchingPool) -> ObjectFinding:
    pool = entry.pool
    if not entry.types:
        path: Path = ("spec", "template", "spec", "requirements")
        return ObjectFinding(NO_NODE, pool.manifest, path, "the requirements leave none of the instance types")
    limits = ", ".join(f"{quantity_text(name, count)} {name}" for name, count in pool.limits.items())
    types = ", ".join(each.type for each in entry.types)
    return ObjectFinding(NO_NODE, pool.manifest, ("spec", "limits"), f"{limits} is less than one node of {types}")


def _unadvertised(
    site: ClusterIndex,
    queue: Manifest,
    path: Path,
    flavor: Manifest,
    found: list[MatchingPool],
    name: str,
    pod: Amounts,
) -> Iterator[ObjectFinding]:
    pools = [each.pool for each in found]
    if not all(pool.is_known for pool in pools) or not name.startswith(_KARPENTER_KNOWS):
        return
    if not site.objects.is_complete and any(pool.replicas is not None for pool in pools):
        return  # what runs on nodes that exist, parts of a tree do not say
    if any(places(entry.pool.room(each), pod) for entry in found for each in entry.types):
        return
    names = ", ".join(pool.name for pool in pools)
    message = f"flavor {flavor.name} has quota of {name}, but no node of node pool {names} holds {described(pod)}"
    yield ObjectFinding(UNADVERTISED, queue, path, message)


def _closed(site: ClusterIndex, queue: Manifest, smallest: list[Amounts]) -> Iterator[ObjectFinding]:
    """Namespaces of the queue whose bounds refuse the smallest pod of every kind."""
    for local in site.local_queues.get(queue.name, ()):
        limits = container_limits(site, local.namespace)
        first = None
        for pod in smallest:
            spec = {"containers": [{"resources": {"requests": {k: quantity_text(k, v) for k, v in pod.items()}}}]}
            work = Workload((PodSet(spec),), local.namespace, local.name)
            steps = list(namespace_steps(site, work, limits, pod_requests(spec, limits)))
            failed = next((step for step in steps if step.failed), None)
            if failed is None:
                first = None
                break
            first = first or failed
        has_devices = any(name.startswith(_DEVICES) for pod in smallest for name in pod)
        if first is None or first.manifest is None or (has_devices and first.manifest.kind == "ResourceQuota"):
            continue  # of GPUs the judge of quotas tells
        message = f"{first.message}; LocalQueue {local.name} stands here"
        yield ObjectFinding(CLOSED_NAMESPACE, first.manifest, first.path, message)
