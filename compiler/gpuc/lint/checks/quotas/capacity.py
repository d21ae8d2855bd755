"""What the node pools of a tree can hold at most, from their limits, instance types and overlays.

Sources: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits, replicas), pkg/controllers/provisioning/scheduling
(no instance type is launched beyond a limit), pkg/controllers/nodeoverlay/store.go (of two overlays the heavier wins)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gpuc.catalog import load
from gpuc.kubernetes.amounts import MIB, Amounts, amount
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
NODES = "nodes"
NODEPOOL = "karpenter.sh/nodepool"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_BY_CLOUD = ("kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws", "k8s.aws")
"""Domains of labels that nodes carry without any word of their pool."""
Capacity = Amounts
"""A resource that is not there is not known, and may be there."""


class Pool(NamedTuple):
    """A NodePool, as far as it bounds what its nodes hold."""

    name: str
    labels: dict[str, str]
    allowed: dict[str, frozenset[str]]
    """Values by label key, of the requirements with the operator In."""
    limits: Capacity
    """Of `nodes` also where the pool is static: then it has its replicas and, only while it replaces them, more."""
    types: tuple[Capacity, ...]
    """Capacity of one node by instance type; empty where not all types are known."""

    def holds(self, resource: str, *, counts_gpus: bool) -> int | None:
        """The most of a resource that all nodes together ever have; None where nothing bounds it.

        Args:
            counts_gpus: whether an instance type's GPUs are what its nodes report; under time slicing it is more.
        """
        bounds = [self.limits[resource]] if resource in self.limits else []
        if resource != GPU or counts_gpus:
            bounds += self._by_types(resource)
        return min(bounds, default=None)

    def _by_types(self, resource: str) -> Iterator[int]:
        if not self.types or not all(resource in each for each in self.types):
            return
        for limited, limit in self.limits.items():
            if all(each.get(limited) or not each[resource] for each in self.types):
                yield max(_fitting(each, resource, limited, limit, is_only=len(self.types) == 1) for each in self.types)


def _fitting(node: Capacity, resource: str, limited: str, limit: int, *, is_only: bool) -> int:
    if not node[resource]:
        return 0
    if is_only:
        return limit // node[limited] * node[resource]
    return limit * node[resource] // node[limited]


def pools(tree: ObjectSet) -> list[Pool]:
    """The node pools of a tree."""
    overlays = [(each.name, each.body) for each in tree.of("karpenter.sh", "NodeOverlay")]
    overlays.sort(key=lambda each: (-_weight(each[1]), each[0]))
    return [_pool(each.name, each.body, [body for _, body in overlays]) for each in tree.of("karpenter.sh", "NodePool")]


class PoolIndex:
    """Node pools by the labels that their nodes carry."""

    def __init__(self, known: Iterable[Pool]) -> None:
        self._pools = tuple(known)
        self._told: set[str] = set()
        self._by_label: dict[tuple[str, str], list[Pool]] = {}
        for pool in self._pools:
            self._told.update(pool.labels, pool.allowed)
            pairs_of = [
                *pool.labels.items(),
                *((key, value) for key, values in pool.allowed.items() for value in values),
            ]
            for pair in dict.fromkeys(pairs_of):
                self._by_label.setdefault(pair, []).append(pool)

    def selected(self, labels: Any) -> list[Pool]:
        """The pools whose nodes may carry all labels of a flavor; empty where any other node may carry them too."""
        wanted = {key: value for key, value in pairs(labels) if isinstance(key, str) and isinstance(value, str)}
        own = [key for key in wanted if key in self._told and (key == NODEPOOL or not _is_by_cloud(key))]
        if own:
            candidates = min((self._by_label.get((key, wanted[key]), []) for key in own), key=len)
        elif any(key in self._told and key.startswith("karpenter.sh/") for key in wanted):
            candidates = list(self._pools)
        else:
            return []
        return [pool for pool in candidates if all(_may_carry(pool, *each, self._told) for each in wanted.items())]


def _may_carry(pool: Pool, key: str, value: str, told: set[str]) -> bool:
    if key in pool.labels:
        return pool.labels[key] == value
    if key in pool.allowed:
        return value in pool.allowed[key]
    return key not in told or _is_by_cloud(key)


def _is_by_cloud(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == each or domain.endswith(f".{each}") for each in _BY_CLOUD)


def _pool(name: str, body: Any, overlays: list[Any]) -> Pool:
    template = dig(body, "spec", "template")
    labels = {key: value for key, value in pairs(dig(template, "metadata", "labels")) if isinstance(value, str)}
    labels[NODEPOOL] = name
    allowed = _allowed(dig(template, "spec", "requirements"))
    limits = {key: value for key, row in pairs(dig(body, "spec", "limits")) if (value := amount(key, row)) is not None}
    replicas = amount(NODES, dig(body, "spec", "replicas"))
    if replicas is not None:
        # None of the nodes of a closed pool is replaced, so it holds nothing that a quota may promise.
        limits = {NODES: 0 if limits.get(NODES) == 0 else replicas}
    types = _types(allowed.get(INSTANCE_TYPE, frozenset()), labels, overlays)
    return Pool(name, labels, allowed, limits, types)


def _allowed(requirements: Any) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for _, row in items(requirements):
        key, values = dig(row, "key"), dig(row, "values")
        if dig(row, "operator") == "In" and isinstance(key, str) and isinstance(values, list):
            words = frozenset(each for each in values if isinstance(each, str))
            found[key] = found[key] & words if key in found else words
    return found


def _types(names: frozenset[str], labels: dict[str, str], overlays: list[Any]) -> tuple[Capacity, ...]:
    instances = load().instances
    if not names or not all(name in instances for name in names):
        return ()
    return tuple(_capacity(name, labels | {INSTANCE_TYPE: name}, overlays) for name in sorted(names))


def _capacity(name: str, labels: dict[str, str], overlays: list[Any]) -> Capacity:
    row = load().instances[name]
    found = {NODES: 1, "cpu": row.vcpu * 1000, "memory": row.memory_mib * MIB, EFA: row.efa}
    found[GPU] = row.gpu_count
    perhaps: Capacity = {}
    decided: set[str] = set()
    for overlay in overlays:
        applies = _applies(dig(overlay, "spec", "requirements"), labels)
        for resource, quantity in pairs(dig(overlay, "spec", "capacity")):
            value = amount(resource, quantity)
            if applies is False or value is None or resource in decided:
                continue
            if applies:
                found[resource] = value
                decided.add(resource)
            else:
                perhaps[resource] = max(value, perhaps.get(resource, 0))
    return found | {key: max(value, found[key]) for key, value in perhaps.items() if key in found}


def _applies(requirements: Any, labels: dict[str, str]) -> bool | None:
    """Whether an overlay is for nodes with these labels; None where that depends on labels that are not known."""
    verdict: bool | None = True
    for _, row in items(requirements):
        key, values = dig(row, "key"), dig(row, "values")
        known = isinstance(key, str) and key in labels and isinstance(values, list) and dig(row, "operator") == "In"
        if not known:
            verdict = None
        elif labels[key] not in values:
            return False
    return verdict


def _weight(overlay: Any) -> int:
    weight = dig(overlay, "spec", "weight")
    return weight if isinstance(weight, int) else 0
