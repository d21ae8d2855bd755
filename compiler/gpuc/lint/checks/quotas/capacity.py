"""What the node pools of a tree can hold at most, from their limits, instance types and overlays.

Sources: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits, replicas), pkg/controllers/provisioning/scheduling
(no instance type is launched beyond a limit), pkg/controllers/nodeoverlay/store.go (of two overlays the heavier wins)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from gpuc.catalog import load
from gpuc.kubernetes.amounts import MIB, Amounts, amount
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, normal
from gpuc.objects.node_pools import Nodes, Overlays
from gpuc.objects.node_pools import Pool as PoolOfNodes
from gpuc.objects.object_set import ObjectSet, dig, labels, pairs
from gpuc.trace.instance_capacity import EFA, GPU, instance_labels

NODES = "nodes"
_BY_CLOUD = ("kubernetes.io", "k8s.io", "karpenter.sh", "karpenter.k8s.aws", "k8s.aws")
"""Domains of labels that nodes carry although their pool does not name them."""
Capacity = Amounts
"""A resource that is not there is not known, and may be there."""


class Pool(NamedTuple):
    """A NodePool, as far as it bounds what its nodes hold."""

    name: str
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


class PoolIndex:
    """What the node pools of a tree hold, by the labels that their nodes carry."""

    def __init__(self, tree: ObjectSet) -> None:
        self._nodes, self._overlays = Nodes(tree), Overlays(tree)

    def selected(self, flavor_labels: Any) -> list[Pool]:
        """The pools whose nodes may carry all labels of a flavor; empty where any other node may carry them too."""
        named = [key for key in map(normal, labels(flavor_labels)) if key in self._named]
        if not any(key.startswith("karpenter.sh/") or not _is_by_cloud(key) for key in named):
            return []
        return [self._pools[pool.name] for pool in self._nodes.matching(flavor_labels)]

    @cached_property
    def _named(self) -> frozenset[str]:
        """Labels that a pool gives or restricts."""
        return frozenset(key for pool in self._nodes.pools for key in pool.offer)

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: _pool(pool, self._overlays) for pool in self._nodes.pools}


def _is_by_cloud(key: str) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == each or domain.endswith(f".{each}") for each in _BY_CLOUD)


def _pool(pool: PoolOfNodes, overlays: Overlays) -> Pool:
    spec = dig(pool.manifest.body, "spec")
    limits = {key: value for key, row in pairs(dig(spec, "limits")) if (value := amount(key, row)) is not None}
    replicas = amount(NODES, dig(spec, "replicas"))
    if replicas is not None:
        # None of the nodes of a closed pool is replaced, so it holds nothing that a quota may promise.
        limits = {NODES: 0 if limits.get(NODES) == 0 else replicas}
    names = sorted(pool.listed(INSTANCE_TYPE))
    is_known = all(name in load().instances for name in names)
    started = [name for name in names if is_known and pool.takes(instance_labels(name))]
    return Pool(pool.name, limits, tuple(_capacity(name, pool, overlays) for name in started))


def _capacity(name: str, pool: PoolOfNodes, overlays: Overlays) -> Capacity:
    row = load().instances[name]
    found = {NODES: 1, "cpu": row.vcpu * 1000, "memory": row.memory_mib * MIB, EFA: row.efa}
    found[GPU] = row.gpu_count
    perhaps: Capacity = {}
    decided: set[str] = set()
    for overlay in overlays.of(pool, name, instance_labels(name)):
        for resource, quantity in overlay.value.capacity.items():
            value = amount(resource, quantity)
            if value is None or resource in decided:
                continue
            if overlay.is_sure:
                found[resource] = value
                decided.add(resource)
            else:
                perhaps[resource] = max(value, perhaps.get(resource, 0))
    return found | {key: max(value, found[key]) for key, value in perhaps.items() if key in found}
