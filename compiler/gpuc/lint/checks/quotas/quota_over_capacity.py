"""Nominal quotas that exceed the capacity of node pools, or that do not fit the quota of another resource."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import inf

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.capacity import FlavorCapacity
from gpuc.lint.checks.quotas.cohort_trees import CohortTree, by_flavor
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.instance_capacity import EFA, GPU
from gpuc.trace.quota import Node

OVER_KNOWN_CAPACITY = declare_rule(
    "QTA002",
    Severity.WARNING,
    "The nominal quotas of a flavor exceed the capacity of the node pools in the input.",
    "Unless other nodes have the flavor's labels, Kueue admits work for which no node starts: its pods stay Pending "
    "and hold quota that others wait for.",
    "kueue v0.19.2 pkg/cache/scheduler/resource_node.go; karpenter v1.14.1 pkg/apis/v1/nodepool.go, limits",
)
BELOW_A_NODE = declare_rule(
    "QTA003",
    Severity.WARNING,
    "The GPU quota of a queue with EFA is below the GPUs of one node.",
    "Workload with EFA uses all GPUs of its nodes; such work is never admitted to the queue.",
)
OUT_OF_PROPORTION = declare_rule(
    "QTA004",
    Severity.WARNING,
    "CPU, memory or EFA quota covers less than a quarter of the GPU quota.",
    "Pods that request a node's share of each resource use up that quota first. The rest of the GPU quota is not used.",
)
Part = tuple[int, CohortTree]
"""The nominal quota of one cohort tree."""
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_PARTS = 4
"""Pods with GPUs often request half of a node's share of cpu and memory, but rarely less than a quarter."""
_WITH_GPUS = ("cpu", "memory", EFA)


def quota_over_capacity(pools: FlavorCapacity, cohorts: list[CohortTree]) -> Iterator[ObjectFinding]:
    """Nominal quotas that exceed the capacity of the flavor's node pools.

    A flavor has one finding, for the resource with the largest excess: other resources depend on the same nodes.
    """
    sums: dict[str, dict[Key, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for cohort, total in _totals(pools.tree, cohorts):
        for key, value in total.items():
            sums[key[0]][key].append((value, cohort))
    for by_key in sums.values():
        exceeded = [
            (key, parts, most) for key, parts in by_key.items() if (most := _exceeded(pools, key, parts)) is not None
        ]
        if exceeded:
            key, parts, most = max(exceeded, key=lambda row: _excess(row[1], row[2]))
            others = [other[1] for other, _, _ in exceeded if other != key]
            yield from _over_capacity(pools, key, parts, most, others)


def _totals(tree: ObjectSet, cohorts: list[CohortTree]) -> Iterator[tuple[CohortTree, dict[Key, int]]]:
    remote = _remote_queues(tree)
    for cohort in cohorts:
        total: dict[Key, int] = defaultdict(int)
        for member in cohort.members:
            for key, quota in member.quotas.items():
                if not (member.is_queue and member.name in remote):
                    total[key] += quota.nominal
        yield cohort, total


def _exceeded(pools: FlavorCapacity, key: Key, parts: list[Part]) -> int | None:
    """The capacity of the nodes, where it is less than the nominal quotas."""
    total = sum(value for value, _ in parts)
    if total <= 0 or total >= UNLIMITED:  # an unlimited quota exceeds the capacity on purpose
        return None
    most = pools.most(key)
    return most if most is not None and total > most else None


def _excess(parts: list[Part], most: int) -> float:
    """The nominal quotas as a multiple of the capacity."""
    return sum(value for value, _ in parts) / most if most > 0 else inf


def _over_capacity(
    pools: FlavorCapacity, key: Key, parts: list[Part], most: int, others: list[str]
) -> Iterator[ObjectFinding]:
    flavor, resource = key
    from gpuc.rules.queues.quotas_exceed_capacity import quotas_exceed_capacity

    rule = quotas_exceed_capacity.rule if pools.is_certain(flavor) else OVER_KNOWN_CAPACITY
    names = ", ".join(pool.name for pool in pools.by_flavor[flavor])
    more = f"; also exceeded: {', '.join(others)}" if others else ""
    alone = [part for part in parts if part[0] > most]
    for value, cohort in alone or [max(parts, key=lambda part: part[0])]:
        rows = (member for member in cohort.members if key in member.quotas)
        member = max(rows, key=lambda row: row.quotas[key].nominal)
        assert member.manifest is not None, "a member with quotas has an object"
        owner = str(cohort) if alone else f"{cohort} and {len(parts) - 1} more"
        nominal = rounded(resource, value if alone else sum(part[0] for part in parts))
        text = f"the nominal quota of {owner} for flavor {flavor} is {nominal}, but its node pools hold at most "
        text += f"{rounded(resource, most)}: {names}{more}"
        yield ObjectFinding(rule, member.manifest, (*member.path(key), "nominalQuota"), text)


def _remote_queues(tree: ObjectSet) -> set[str]:
    """Names of ClusterQueues whose work may run in other clusters, where its quota is: those of MultiKueue."""
    controllers = {check.name: dig(check.body, "spec", "controllerName") for check in tree.of(GROUP, "AdmissionCheck")}
    found = set()
    for queue in tree.of(GROUP, "ClusterQueue"):
        strategy = dig(queue.body, "spec", "admissionChecksStrategy", "admissionChecks")
        names = [dig(row, "name") for _, row in items(strategy)]
        names += [name for _, name in items(dig(queue.body, "spec", "admissionChecks"))]
        if any(not isinstance(name, str) or controllers.get(name) in _UNKNOWN_OR_REMOTE for name in names):
            found.add(queue.name)
    return found


def quota_proportions(pools: FlavorCapacity, cohort: CohortTree) -> Iterator[ObjectFinding]:
    """GPU quotas that are below one node, or that have too little cpu, memory or EFA beside them."""
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
    where = (*queue.path((flavor, GPU)), "nominalQuota")
    node_gpus = min(node[GPU] for node in types)
    if gpus < node_gpus and queue.capacity((flavor, EFA)):
        text = f"{rounded(GPU, gpus)} of flavor {flavor} with borrowing, but one node has {rounded(GPU, node_gpus)}"
        yield ObjectFinding(BELOW_A_NODE, queue.manifest, where, text)
    for resource in _WITH_GPUS:
        if resource not in quotas or not (resource != EFA or queue.capacity((flavor, EFA))):
            continue
        most = queue.capacity((flavor, resource))
        shares = [Fraction(node[GPU] * most, node[resource]) for node in types if node[resource]]
        if shares and max(shares) * _PARTS < gpus:
            text = f"{rounded(resource, most)} of flavor {flavor} is a node's share for {rounded(GPU, max(shares))}, "
            text += f"but the queue can use {rounded(GPU, gpus)}"
            yield ObjectFinding(
                OUT_OF_PROPORTION, queue.manifest, (*queue.path((flavor, resource)), "nominalQuota"), text
            )
