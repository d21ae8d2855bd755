"""What queues and cohorts promise against what their node pools can ever hold, and in which proportion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.capacity import Capacity, Pool, PoolIndex
from gpuc.lint.checks.quotas.families import Family, by_flavor
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.instance_capacity import EFA, GPU
from gpuc.trace.quota import Node

BEYOND_POOLS_HERE = declare_rule(
    "QTA002",
    Severity.WARNING,
    "Queues promise more of a flavor than the node pools of these files can hold, unless other nodes carry its labels.",
    "Kueue admits work for which no node comes: its pods stay pending and hold quota that others wait for.",
    "kueue v0.19.2 pkg/cache/scheduler/resource_node.go; karpenter v1.14.1 pkg/apis/v1/nodepool.go, limits",
)
BELOW_A_NODE = declare_rule(
    "QTA003",
    Severity.WARNING,
    "A queue of nodes with EFA can never have the GPUs of one whole node.",
    "EFA joins whole nodes to gangs; no such gang is ever admitted here.",
)
OUT_OF_PROPORTION = declare_rule(
    "QTA004",
    Severity.WARNING,
    "Of a flavor a queue has cpu, memory or EFA for less than a quarter of its GPUs.",
    "Pods that take a node's share of each use that up first; the rest of the GPU quota is never used.",
)
Part = tuple[int, Family]
"""What one family promises of something."""
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_PARTS = 4
"""Pods with GPUs often take half of a node's share of cpu and memory, hardly ever less than this part of it."""
_BESIDE_GPUS = ("cpu", "memory", EFA)


@dataclass(frozen=True)
class Nodes:
    """Which node pools the flavors of a tree lead to."""

    tree: ObjectSet

    @cached_property
    def by_flavor(self) -> dict[str, list[Pool]]:
        """Pools by flavor; none where nodes of no pool may carry its labels."""
        index = PoolIndex(self.tree)
        flavors = self.tree.of(GROUP, "ResourceFlavor")
        return {each.name: index.selected(dig(each.body, "spec", "nodeLabels")) for each in flavors}

    def most(self, key: Key) -> int | None:
        """What the pools of a flavor hold of a resource at most; None where nothing bounds it."""
        chosen = self.by_flavor.get(key[0])
        bounds = [pool.holds(key[1], counts_gpus=self.tree.is_complete) for pool in chosen or ()]
        known = [bound for bound in bounds if bound is not None]
        return sum(known) if known and len(known) == len(bounds) else None

    def whole_gpus(self, flavor: str) -> list[Capacity]:
        """The node types of a flavor, where all are known and have whole GPUs: nothing is sliced or shared."""
        chosen = self.by_flavor.get(flavor, [])
        types = [each for pool in chosen for each in pool.types]
        is_known = bool(types) and all(pool.types for pool in chosen) and all(each.get(GPU) for each in types)
        is_cut = any("nvidia.com/mig-" in name or name.endswith(".shared") for each in types for name in each)
        return types if is_known and not is_cut else []

    def is_certain(self, flavor: str) -> bool:
        """Whether no other nodes than those of the tree's pools can carry the flavor's labels."""
        found = self.tree.find(GROUP, "ResourceFlavor", flavor)
        return self.tree.is_complete or (
            found is not None and dig(found.body, "spec", "nodeLabels", NODE_POOL) is not None
        )


def promises(nodes: Nodes, known: list[Family]) -> Iterator[ObjectFinding]:
    """Nominal quotas that no node backs: of one family first, then of all that share a flavor.

    Of each flavor the resource is told of which most is missing; the others follow from the same nodes.
    """
    sums: dict[str, dict[Key, list[Part]]] = defaultdict(lambda: defaultdict(list))
    for family, total in _totals(nodes.tree, known):
        for key, value in total.items():
            sums[key[0]][key].append((value, family))
    for by_key in sums.values():
        beyond = [
            (key, parts, most) for key, parts in by_key.items() if (most := _exceeded(nodes, key, parts)) is not None
        ]
        if beyond:
            key, parts, most = max(beyond, key=lambda each: _missing(each[1], each[2]))
            yield from _beyond(nodes, key, parts, most, [each[0][1] for each in beyond if each[0] != key])


def _totals(tree: ObjectSet, known: list[Family]) -> Iterator[tuple[Family, dict[Key, int]]]:
    remote = _remote_queues(tree)
    for family in known:
        total: dict[Key, int] = defaultdict(int)
        for member in family.members:
            for key, quota in member.quotas.items():
                if not (member.is_queue and member.name in remote):
                    total[key] += quota.nominal
        yield family, total


def _exceeded(nodes: Nodes, key: Key, parts: list[Part]) -> int | None:
    """What the nodes hold at most, where that is less than what is promised."""
    total = sum(value for value, _ in parts)
    if total <= 0 or total >= UNLIMITED:  # who writes an unlimited quota promises more on purpose
        return None
    most = nodes.most(key)
    return most if most is not None and total > most else None


def _missing(parts: list[Part], most: int) -> float:
    """The promise in multiples of what there is."""
    return sum(value for value, _ in parts) / most if most > 0 else inf


def _beyond(nodes: Nodes, key: Key, parts: list[Part], most: int, others: list[str]) -> Iterator[ObjectFinding]:
    flavor, resource = key
    from gpuc.rules.queues.quotas_exceed_capacity import quotas_exceed_capacity

    kind = quotas_exceed_capacity.rule if nodes.is_certain(flavor) else BEYOND_POOLS_HERE
    names = ", ".join(pool.name for pool in nodes.by_flavor[flavor])
    more = f"; too much as well: {', '.join(others)}" if others else ""
    alone = [part for part in parts if part[0] > most]
    for value, family in alone or [max(parts, key=lambda part: part[0])]:
        rows = (member for member in family.members if key in member.quotas)
        member = max(rows, key=lambda row: row.quotas[key].nominal)
        assert member.manifest is not None, "what has quotas has an object"
        who = str(family) if alone else f"{family} and {len(parts) - 1} more"
        promised = rounded(resource, value if alone else sum(part[0] for part in parts))
        text = f"{who} promises {promised} of flavor {flavor}, its node pools hold at most {rounded(resource, most)}: "
        yield ObjectFinding(kind, member.manifest, (*member.path(key), "nominalQuota"), text + names + more)


def _remote_queues(tree: ObjectSet) -> set[str]:
    """Names of queues whose work may run in other clusters, where their quota is: those of MultiKueue."""
    checks = {each.name: dig(each.body, "spec", "controllerName") for each in tree.of(GROUP, "AdmissionCheck")}
    found = set()
    for each in tree.of(GROUP, "ClusterQueue"):
        strategy = dig(each.body, "spec", "admissionChecksStrategy", "admissionChecks")
        names = [dig(row, "name") for _, row in items(strategy)]
        names += [name for _, name in items(dig(each.body, "spec", "admissionChecks"))]
        if any(not isinstance(name, str) or checks.get(name) in _UNKNOWN_OR_REMOTE for name in names):
            found.add(each.name)
    return found


def proportions(nodes: Nodes, family: Family) -> Iterator[ObjectFinding]:
    """Quotas of whole GPUs for which there can never be a node's worth, or never the cpu, memory and EFA."""
    for queue in family.queues:
        for flavor, quotas in by_flavor(queue).items():
            types = nodes.whole_gpus(flavor)
            gpus = queue.capacity((flavor, GPU))
            if gpus and types and gpus < UNLIMITED:
                yield from _of_gpus(queue, flavor, quotas, gpus, types)


def _of_gpus(
    queue: Node, flavor: str, quotas: dict[str, Quota], gpus: int, types: list[dict[str, int]]
) -> Iterator[ObjectFinding]:
    assert queue.manifest is not None, "a queue has an object"
    where = (*queue.path((flavor, GPU)), "nominalQuota")
    node = min(each[GPU] for each in types)
    if gpus < node and queue.capacity((flavor, EFA)):
        text = (
            f"{rounded(GPU, gpus)} of flavor {flavor} with all that can be borrowed, one node has {rounded(GPU, node)}"
        )
        yield ObjectFinding(BELOW_A_NODE, queue.manifest, where, text)
    for resource in _BESIDE_GPUS:
        if resource not in quotas or not (resource != EFA or queue.capacity((flavor, EFA))):
            continue
        most = queue.capacity((flavor, resource))
        shares = [Fraction(node[GPU] * most, node[resource]) for node in types if node[resource]]
        if shares and max(shares) * _PARTS < gpus:
            text = f"{rounded(resource, most)} of flavor {flavor} can be used, which is a "
            text += f"node's share for {rounded(GPU, max(shares))}, the queue can use {rounded(GPU, gpus)}"
            yield ObjectFinding(
                OUT_OF_PROPORTION, queue.manifest, (*queue.path((flavor, resource)), "nominalQuota"), text
            )
