"""Nominal quotas that exceed the capacity of node pools, or that are too small for the GPU quota."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import inf

from gpuc.cluster.queue import Member, Tree
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.capacity import FlavorCapacity
from gpuc.model.units import Unit
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.rules.queues._capacity import Counted, beyond
from gpuc.rules.queues._places import place
from gpuc.rules.queues.quotas_exceed_capacity import quotas_exceed_capacity
from gpuc.trace.instance_capacity import EFA, GPU

OVER_KNOWN_CAPACITY = declare_rule(
    "QTA002",
    Severity.WARNING,
    "The nominal quotas of a flavor exceed the capacity of the node pools in the input.",
    "Unless other nodes have the flavor's labels, Kueue admits work for which no node starts: its pods stay Pending, "
    "and other work waits for the quota that they occupy.",
    "kueue v0.19.2 pkg/cache/scheduler/resource_node.go; karpenter v1.14.1 pkg/apis/v1/nodepool.go, limits",
)
BELOW_A_NODE = declare_rule(
    "QTA003",
    Severity.WARNING,
    "The GPU quota of a ClusterQueue with EFA is smaller than the number of GPUs of one node.",
    "Pods with EFA request all GPUs of a node, so Kueue never admits them to the ClusterQueue.",
)
OUT_OF_PROPORTION = declare_rule(
    "QTA004",
    Severity.WARNING,
    "The cpu, memory or EFA quota suffices for less than a quarter of the GPU quota.",
    "Pods that request cpu, memory and EFA in proportion to their GPUs use up the smaller quota first. The rest of the "
    "GPU quota is not used.",
)
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_TOLERANCE = 4
"""Pods rarely request less than a quarter of the cpu and memory that a node has for each of its GPUs."""
_WITH_GPUS = ("cpu", "memory", EFA)


def quota_over_capacity(pools: FlavorCapacity, trees: list[Tree]) -> Iterator[ObjectFinding]:
    """Yields findings about nominal quotas that exceed the capacity of the flavor's node pools.

    A flavor has one finding, for the resource with the largest excess, because all resources depend on the same nodes.
    """
    remote = _remote_queues(pools.objects)
    by_flavor: dict[str, dict[Key, list[Counted]]] = defaultdict(lambda: defaultdict(list))
    for member in (member for tree in trees for member in tree.members):
        for key, quota in member.quotas.items():
            if not (member.is_queue and member.name in remote):
                row = Counted(member.name, quota.nominal, *place(member, key, "nominalQuota"))
                by_flavor[key[0]][key].append(row)
    for flavor, by_key in by_flavor.items():
        exceeded = [
            (key, rows, most) for key, rows in by_key.items() if (most := _exceeded(pools, key, rows)) is not None
        ]
        if exceeded:
            (_, resource), rows, most = max(exceeded, key=lambda row: _excess(row[1], row[2]))
            rule = quotas_exceed_capacity.rule if pools.is_certain(flavor) else OVER_KNOWN_CAPACITY
            names = ", ".join(pool.name for pool in pools.by_flavor[flavor])
            found = beyond(rows, most, f"ResourceFlavor {flavor}", f"NodePool {names}", Unit(resource, ""))
            others = [other for (_, other), _, _ in exceeded if other != resource]
            more = f"; also exceeded: {', '.join(others)}" if others else ""
            yield found._replace(message=found.message + more).on_object(rule)


def _exceeded(pools: FlavorCapacity, key: Key, rows: list[Counted]) -> int | None:
    """Returns the capacity of the nodes if it is known and less than the nominal quotas; else None."""
    total = sum(row.amount for row in rows)
    if total <= 0 or total >= UNLIMITED:  # an unlimited quota exceeds the capacity on purpose
        return None
    most = pools.maximum(key)
    return most if most is not None and total > most else None


def _excess(rows: list[Counted], most: int) -> float:
    """Returns the nominal quotas as a multiple of the capacity."""
    return float(sum(row.amount for row in rows) / most) if most > 0 else inf


def _remote_queues(objects: ObjectSet) -> set[str]:
    """Returns the names of ClusterQueues whose work may run in other clusters, because they use MultiKueue."""
    controllers = {
        check.name: dig(check.body, "spec", "controllerName") for check in objects.of(GROUP, "AdmissionCheck")
    }
    remote = set()
    for queue in objects.of(GROUP, "ClusterQueue"):
        strategy = dig(queue.body, "spec", "admissionChecksStrategy", "admissionChecks")
        names = [dig(row, "name") for _, row in items(strategy)]
        names += [name for _, name in items(dig(queue.body, "spec", "admissionChecks"))]
        if any(not isinstance(name, str) or controllers.get(name) in _UNKNOWN_OR_REMOTE for name in names):
            remote.add(queue.name)
    return remote


def quota_proportions(pools: FlavorCapacity, tree: Tree) -> Iterator[ObjectFinding]:
    """Yields findings about GPU quotas below one node, and about too little cpu, memory or EFA for the GPU quota."""
    for queue in tree.queues:
        for flavor, quotas in queue.by_flavor.items():
            types = pools.unshared_types(flavor)
            gpus = queue.capacity((flavor, GPU))
            if gpus and types and gpus < UNLIMITED:
                yield from _of_gpus(queue, flavor, quotas, gpus, types)


def _of_gpus(
    queue: Member, flavor: str, quotas: dict[str, Quota], gpus: int, types: list[dict[str, int]]
) -> Iterator[ObjectFinding]:
    assert queue.manifest is not None, "a queue has an object"
    gpu_path = (*queue.path((flavor, GPU)), "nominalQuota")
    node_gpus = min(node[GPU] for node in types)
    if gpus < node_gpus and queue.capacity((flavor, EFA)):
        text = f"the ClusterQueue can use {rounded(GPU, gpus)} of ResourceFlavor {flavor}, borrowing included, but one "
        text += f"node has {rounded(GPU, node_gpus)}"
        yield ObjectFinding(BELOW_A_NODE, queue.manifest, gpu_path, text)
    for resource in _WITH_GPUS:
        if resource not in quotas or not (resource != EFA or queue.capacity((flavor, EFA))):
            continue
        usable = queue.capacity((flavor, resource))
        gpus_served = [Fraction(node[GPU] * usable, node[resource]) for node in types if node[resource]]
        if gpus_served and max(gpus_served) * _TOLERANCE < gpus:
            text = f"the ClusterQueue can use {rounded(GPU, gpus)} of ResourceFlavor {flavor}, but its "
            text += f"{rounded(resource, usable)} suffices for {rounded(GPU, max(gpus_served))} on such nodes"
            path = (*queue.path((flavor, resource)), "nominalQuota")
            yield ObjectFinding(OUT_OF_PROPORTION, queue.manifest, path, text)
