"""Nominal quotas that exceed the capacity of node pools, or that are too small for the GPU quota."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import inf

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.cohort_trees import CohortTree, by_flavor
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.quota import Node

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
Part = tuple[int, CohortTree]
"""The nominal quota of one cohort tree, and the tree."""
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_TOLERANCE = 4
"""Pods rarely request less than a quarter of the cpu and memory that a node has for each of its GPUs."""
_WITH_GPUS = ("cpu", "memory", EFA)


def quota_over_capacity(pools: FlavorCapacity, cohorts: list[CohortTree]) -> Iterator[ObjectFinding]:
    """Yields findings about nominal quotas that exceed the capacity of the flavor's node pools.

    A flavor has one finding, for the resource with the largest excess, because all resources depend on the same nodes.
    """
    sums: dict[str, dict[Key, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for cohort, total in _totals(pools.objects, cohorts):
        for key, value in total.items():
            sums[key[0]][key].append((value, cohort))
    for by_key in sums.values():
        exceeded = [
            (key, parts, maximum)
            for key, parts in by_key.items()
            if (maximum := _exceeded(pools, key, parts)) is not None
        ]
        if exceeded:
            key, parts, maximum = max(exceeded, key=lambda row: _excess(row[1], row[2]))
            others = [other[1] for other, _, _ in exceeded if other != key]
            yield from _over_capacity(pools, key, parts, maximum, others)


def _totals(objects: ObjectSet, cohorts: list[CohortTree]) -> Iterator[tuple[CohortTree, dict[Key, int]]]:
    remote = _remote_queues(objects)
    for cohort in cohorts:
        total: dict[Key, int] = defaultdict(int)
        for member in cohort.members:
            for key, quota in member.quotas.items():
                if not (member.is_queue and member.name in remote):
                    total[key] += quota.nominal
        yield cohort, total


def _exceeded(pools: FlavorCapacity, key: Key, parts: list[Part]) -> int | None:
    """Returns the capacity of the nodes if it is known and less than the nominal quotas; else None."""
    total = sum(value for value, _ in parts)
    if total <= 0 or total >= UNLIMITED:  # an unlimited quota exceeds the capacity on purpose
        return None
    maximum = pools.maximum(key)
    return maximum if maximum is not None and total > maximum else None


def _excess(parts: list[Part], maximum: int) -> float:
    """Returns the nominal quotas as a multiple of the capacity."""
    return sum(value for value, _ in parts) / maximum if maximum > 0 else inf


def _over_capacity(
    pools: FlavorCapacity, key: Key, parts: list[Part], maximum: int, others: list[str]
) -> Iterator[ObjectFinding]:
    flavor, resource = key
    from gpuc.rules.queues.quotas_exceed_capacity import quotas_exceed_capacity

    rule = quotas_exceed_capacity.rule if pools.is_certain(flavor) else OVER_KNOWN_CAPACITY
    names = ", ".join(pool.name for pool in pools.by_flavor[flavor])
    more = f"; also exceeded: {', '.join(others)}" if others else ""
    too_large = [part for part in parts if part[0] > maximum]
    for value, cohort in too_large or [max(parts, key=lambda part: part[0])]:
        rows = (member for member in cohort.members if key in member.quotas)
        member = max(rows, key=lambda row: row.quotas[key].nominal)
        assert member.manifest is not None, "a member with quotas has an object"
        owner = str(cohort) if too_large else f"{cohort} and {len(parts) - 1} more"
        nominal = rounded(resource, value if too_large else sum(part[0] for part in parts))
        text = f"the nominal quota of {owner} for ResourceFlavor {flavor} is {nominal}, but the flavor's node pools "
        text += f"have at most {rounded(resource, maximum)}: {names}{more}"
        yield ObjectFinding(rule, member.manifest, (*member.path(key), "nominalQuota"), text)


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


def quota_proportions(pools: FlavorCapacity, cohort: CohortTree) -> Iterator[ObjectFinding]:
    """Yields findings about GPU quotas below one node, and about too little cpu, memory or EFA for the GPU quota."""
    for queue in cohort.queues:
        for flavor, quotas in by_flavor(queue).items():
            types = pools.unshared_types(flavor)
            gpus = queue.capacity((flavor, GPU))
            if gpus and types and gpus < UNLIMITED:
                yield from _of_gpus(queue, flavor, quotas, gpus, types)


def _of_gpus(
    queue: Node, flavor: str, quotas: dict[str, Quota], gpus: int, types: list[dict[str, int]]
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
