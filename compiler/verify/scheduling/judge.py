"""Queues and flavors through which no pod can go: the smallest pod of each is taken through the objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.finding import Path, Severity, fault
from compiler.manifest import Manifest
from compiler.verify.flaw import Flaw
from compiler.verify.scheduling.amounts import CPU, MEMORY, Amounts, described, places, text
from compiler.verify.scheduling.limits import container_limits, namespace_steps
from compiler.verify.scheduling.matching import exact, selects
from compiler.verify.scheduling.nodes import Entry, Wanted, entries, most_pods, wanted
from compiler.verify.scheduling.quota import Node
from compiler.verify.scheduling.site import Site
from compiler.verify.scheduling.startup import remover
from compiler.verify.scheduling.work import PodSet, Work, requests
from compiler.verify.tree import Tree, dig, items

UNSELECTED = fault(
    "SCD001", Severity.ERROR, "A LocalQueue leads to a ClusterQueue that does not select its namespace.",
    "Work that is submitted there waits for ever: Kueue says that its namespace doesn't match the selector.",
    "kubernetes-sigs/kueue v0.19.2 pkg/workload/admissibility.go",
)  # fmt: skip
NOTHING_TO_HAVE = fault(
    "SCD002", Severity.WARNING, "A ClusterQueue names a flavor of which it can never have anything.",
    "Its quota is zero and nobody lends: every pod that selects the flavor is refused.",
    "kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go",
)  # fmt: skip
NO_POOL = fault(
    "SCD003", Severity.ERROR, "No node pool makes nodes with the labels of a flavor.",
    "Kueue admits the work and adds the labels as a selector: its pods wait for ever and hold the quota.",
    "sigs.k8s.io/karpenter v1.14.1 pkg/scheduling/requirements.go",
)  # fmt: skip
UNTOLERATED = fault(
    "SCD004", Severity.ERROR, "A flavor does not tolerate the taints of the nodes that it leads to.",
    "Kueue admits the work, and its pods wait for ever unless each tolerates the taint itself.",
    "kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/resourceflavor_types.go",
)  # fmt: skip
UNADVERTISED = fault(
    "SCD005", Severity.ERROR, "A queue has quota of a resource that no node of the flavor advertises.",
    "Kueue admits the work, and Karpenter starts no node for it: the pods hold the quota and wait for ever.",
    "sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaim.go",
)  # fmt: skip
NO_NODE = fault(
    "SCD006", Severity.ERROR, "The limits of a node pool allow not one node of its instance types.",
    "Karpenter starts nothing: all pods of the pool wait for ever.",
    "sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/scheduler.go, filterByRemainingResources",
)  # fmt: skip
NO_DOMAIN = fault(
    "SCD007", Severity.ERROR, "A flavor is scheduled by topology, but nothing makes its nodes before there are pods.",
    "Kueue counts nodes that exist. There are none, so it refuses the work, so no pod ever asks for a node.",
    "kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go",
)  # fmt: skip
LASTING_STARTUP = fault(
    "SCD008", Severity.ERROR, "Nothing takes a startup taint of a node pool away.",
    "Its nodes start, are paid for, and never take a pod.",
    "Karpenter documentation, concepts/nodepools, startupTaints",
)  # fmt: skip
CLOSED_NAMESPACE = fault(
    "SCD009", Severity.ERROR, "A namespace's limits allow not the smallest pod of a queue that stands in it.",
    "Kueue admits the work and the API server refuses its pods: the quota is held by nothing.",
    "k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger and pkg/quota",
)  # fmt: skip
_KARPENTER_KNOWS = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa", "hugepages-")
"""Resources for which Karpenter starts no node unless it knows of them: others, some agent may bring."""


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Every flavor of every ClusterQueue, and every LocalQueue, through which not even the smallest pod can go.

    References to objects that a tree lacks are the business of others.
    """
    site = Site(tree)
    if not site.quotas:
        return
    told: set[tuple[str, int, Path]] = set()
    for queue in site.quotas.values():
        for flaw in _of_queue(site, queue):
            key = flaw.fault.id, id(flaw.manifest), flaw.path
            if key not in told:
                told.add(key)
                yield flaw


def _of_queue(site: Site, queue: Node) -> Iterator[Flaw]:
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    yield from _unselected(site, manifest)
    smallest: list[Amounts] = []
    for g, group in items(dig(manifest.body, "spec", "resourceGroups")):
        for f, each in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f)
            flavor = site.flavor(str(dig(each, "name")))
            if flavor is None:
                continue
            own = _smallest(queue, flavor.name, each)
            smallest += own.values()
            if not own:
                yield from _nothing_to_have(site, queue, manifest, path)
            yield from _of_flavor(site, manifest, path, flavor, own)
    yield from _closed(site, manifest, smallest)


def _unselected(site: Site, queue: Manifest) -> Iterator[Flaw]:
    selector = dig(queue.body, "spec", "namespaceSelector")
    for local in site.local_queues.get(queue.name, ()):
        labels = site.tree.namespaces.get(local.namespace)
        if labels is not None and not selects(selector, labels):
            message = f"the namespaceSelector of ClusterQueue {queue.name} does not select namespace {local.namespace}"
            yield Flaw(UNSELECTED, local, ("spec", "clusterQueue"), message)


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


def _nothing_to_have(site: Site, queue: Node, manifest: Manifest, path: Path) -> Iterator[Flaw]:
    if site.tree.is_whole or queue.parent is None:
        yield Flaw(NOTHING_TO_HAVE, manifest, path, "no resource of it has any quota, and nothing can be borrowed")


def _of_flavor(site: Site, queue: Manifest, path: Path, flavor: Manifest, pods: dict[str, Amounts]) -> Iterator[Flaw]:
    if not site.pools or not dig(flavor.body, "spec", "nodeLabels"):
        return
    want = wanted({}, 1, {}, [flavor])
    found, misses = entries(site, want)
    if not found:
        yield from _no_entry(site, flavor, want, misses[0].message)
        return
    if not any(most_pods(each, want) for each in found) and all(each.pool.is_known and each.types for each in found):
        yield Flaw(NO_NODE, found[0].pool.manifest, ("spec", "limits"), _too_tight(found[0]))
        return
    for name, pod in pods.items():
        yield from _unadvertised(site, queue, path, flavor, found, name, pod)
    if not site.tree.is_whole:
        return
    topology = dig(flavor.body, "spec", "topologyName")
    checks = dig(queue.body, "spec", "admissionChecksStrategy")
    if topology is not None and not checks and not any(each.pool.replicas for each in found):
        pools = ", ".join(each.pool.name for each in found)
        message = f"topology {topology} needs nodes that exist, and node pool {pools} keeps none (spec.replicas)"
        yield Flaw(NO_DOMAIN, flavor, ("spec", "topologyName"), message)
    for entry in found:
        yield from _lasting(site, entry)


def _no_entry(site: Site, flavor: Manifest, want: Wanted, message: str) -> Iterator[Flaw]:
    """No pool lets the pods in: by its taints, or because none has the labels."""
    fitting = [pool for pool in site.pools if any(pool.mismatch(term) is None for term in want.terms)]
    if fitting:
        if site.tree.is_whole:
            yield Flaw(UNTOLERATED, flavor, ("spec",), message)
        return
    keys = [each.key for each in exact(dig(flavor.body, "spec", "nodeLabels"))]
    if site.tree.is_whole or all(any(pool.names_label(key) for pool in site.pools) for key in keys):
        labels = ", ".join(f"{each.key}={each.values[0]}" for each in exact(dig(flavor.body, "spec", "nodeLabels")))
        yield Flaw(NO_POOL, flavor, ("spec", "nodeLabels"), f"no NodePool makes nodes with {labels}")


def _too_tight(entry: Entry) -> str:
    pool = entry.pool
    limits = ", ".join(f"{text(name, count)} {name}" for name, count in pool.limits.items())
    return f"{limits} is less than one node of {', '.join(each.type for each in entry.types)}"


def _unadvertised(
    site: Site, queue: Manifest, path: Path, flavor: Manifest, found: list[Entry], name: str, pod: Amounts
) -> Iterator[Flaw]:
    pools = [each.pool for each in found]
    if not all(pool.is_known for pool in pools) or not name.startswith(_KARPENTER_KNOWS):
        return
    if not site.tree.is_whole and any(pool.replicas is not None for pool in pools):
        return  # what runs on nodes that exist, parts of a tree do not say
    if any(places(entry.pool.room(each), pod) for entry in found for each in entry.types):
        return
    names = ", ".join(pool.name for pool in pools)
    message = f"flavor {flavor.name} has quota of {name}, but no node of node pool {names} holds {described(pod)}"
    yield Flaw(UNADVERTISED, queue, path, message)


def _lasting(site: Site, entry: Entry) -> Iterator[Flaw]:
    for taint in entry.pool.startup_taints:
        if not remover(site, entry.pool, taint):
            path: Path = ("spec", "template", "spec", "startupTaints", taint.index)
            message = f"no DaemonSet runs behind {taint} to take it away, and no agent is known to"
            yield Flaw(LASTING_STARTUP, entry.pool.manifest, path, message)


def _closed(site: Site, queue: Manifest, smallest: list[Amounts]) -> Iterator[Flaw]:
    """Namespaces of the queue whose bounds refuse the smallest pod of every kind."""
    for local in site.local_queues.get(queue.name, ()):
        limits = container_limits(site, local.namespace)
        first = None
        for pod in smallest:
            spec = {"containers": [{"resources": {"requests": {k: text(k, v) for k, v in pod.items()}}}]}
            work = Work((PodSet(spec),), local.namespace, local.name)
            steps = list(namespace_steps(site, work, limits, requests(spec, limits)))
            failed = next((step for step in steps if step.failed), None)
            if failed is None:
                first = None
                break
            first = first or failed
        if first is not None and first.manifest is not None:
            message = f"{first.message}; LocalQueue {local.name} stands here"
            yield Flaw(CLOSED_NAMESPACE, first.manifest, first.path, message)
