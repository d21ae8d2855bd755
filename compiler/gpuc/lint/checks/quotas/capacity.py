"""The capacity of node pools, by their limits, instance types and node overlays.

Sources: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits, replicas), pkg/controllers/provisioning/scheduling
(no instance type is launched beyond a limit), pkg/controllers/nodeoverlay/store.go (the largest weight wins)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import MIB, Amounts, amount
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, NODE_POOL, normal
from gpuc.kubernetes.quota import Key
from gpuc.kubernetes.reserved_keys import is_by_cloud
from gpuc.lint.checks.unqueued_pools import unqueued_pools
from gpuc.model.names import EFA, GPU, POOL_LABEL
from gpuc.objects.node_pools import Nodes, Overlays
from gpuc.objects.node_pools import Pool as PoolOfNodes
from gpuc.objects.object_set import ObjectSet, dig, labels, pairs
from gpuc.trace.instance_labels import devices, instance_labels

NODES = "nodes"
GPUS = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/")
"""Prefixes of the resources for GPUs, MIG slices and GPU shares."""
Capacity = Amounts
"""Amounts by resource; the amount of an absent resource is unknown."""


class Pool(NamedTuple):
    """The limits of a NodePool, and the capacity of its nodes."""

    name: str
    limits: Capacity
    """Limits by resource. A static node pool has one limit: `nodes`, the number of replicas."""
    types: tuple[Capacity, ...]
    """The capacity of one node, for every instance type; empty if some types are unknown."""
    is_of_gpuc: bool = False
    """Whether the nodes have gpuc's label with the name of the pool."""

    @property
    def is_closed(self) -> bool:
        """Whether the pool starts no nodes, because it will be removed."""
        return self.limits.get(NODES) == 0

    @property
    def gpus(self) -> set[str]:
        """The names of the GPU resources of the nodes."""
        return {name for node in self.types for name, count in node.items() if count and name.startswith(GPUS)}

    def maximum(self, resource: str, *, counts_gpus: bool) -> int | None:
        """Returns the largest amount of a resource that all nodes together can have; None if nothing limits it.

        Args:
            counts_gpus: whether a node advertises the number of GPUs of its instance type. With time-slicing a node
                advertises more, so the number of GPUs is then no bound.
        """
        bounds = [self.limits[resource]] if resource in self.limits else []
        if resource != GPU or counts_gpus:
            bounds += self._by_types(resource)
        return min(bounds, default=None)

    def maximum_of_devices(self, resource: str) -> int | None:
        """Returns the result of maximum, or 0 for a device or huge pages that no node of known type has."""
        is_device = "/" in resource or resource.startswith("hugepages-")
        if is_device and self.types and not any(node.get(resource) for node in self.types):
            return 0
        return self.maximum(resource, counts_gpus=True)

    def _by_types(self, resource: str) -> Iterator[int]:
        """Yields the bounds for a resource that follow from a limit of another resource and the instance types."""
        if not self.types or not all(resource in node for node in self.types):
            return
        for limited, limit in self.limits.items():
            if all(node.get(limited) or not node[resource] for node in self.types):
                is_only = len(self.types) == 1
                yield max(_within_limit(node, resource, limited, limit, is_only=is_only) for node in self.types)


def _within_limit(node: Capacity, resource: str, limited: str, limit: int, *, is_only: bool) -> int:
    """Returns the amount of a resource in as many nodes as a limit allows.

    Args:
        limited: the resource that the limit is for.
        is_only: whether the pool has only this instance type. Several types may use the limit up more closely, so
            fractions of a node count.
    """
    if not node[resource]:
        return 0
    if is_only:
        return limit // node[limited] * node[resource]
    return limit * node[resource] // node[limited]


class PoolIndex:
    """The capacity of the input's node pools, by the node labels of ResourceFlavors."""

    def __init__(self, objects: ObjectSet) -> None:
        self._nodes, self._overlays = Nodes(objects), Overlays(objects)

    def selected(self, flavor_labels: Any) -> list[Pool]:
        """Returns the pools whose nodes can have all labels of a flavor.

        The list is empty if no label distinguishes nodes of the pools from other nodes.
        """
        named = [key for key in map(normal, labels(flavor_labels)) if key in self._named]
        if all(map(is_by_cloud, named)):
            return []
        return [self._pools[pool.name] for pool in self._nodes.matching(flavor_labels)]

    def unselected(self, objects: ObjectSet) -> list[Pool]:
        """Returns the pools that no ResourceFlavor selects."""
        return [self._pools[pool.name] for pool in unqueued_pools(objects, self._nodes)]

    @cached_property
    def _named(self) -> frozenset[str]:
        """Keys of labels that a node pool sets or restricts."""
        return frozenset(key for pool in self._nodes.pools for key in pool.offer)

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: _pool(pool, self._overlays) for pool in self._nodes.pools}


@dataclass(frozen=True)
class FlavorCapacity:
    """The node pools of every flavor, and their capacity."""

    objects: ObjectSet

    @cached_property
    def by_flavor(self) -> dict[str, list[Pool]]:
        """Node pools by flavor; an empty list if other nodes may have the flavor's labels too."""
        index = PoolIndex(self.objects)
        flavors = self.objects.of(GROUP, "ResourceFlavor")
        return {flavor.name: index.selected(dig(flavor.body, "spec", "nodeLabels")) for flavor in flavors}

    @cached_property
    def unqueued(self) -> list[Pool]:
        """The node pools that no ResourceFlavor selects."""
        return PoolIndex(self.objects).unselected(self.objects)

    def maximum(self, key: Key) -> int | None:
        """Returns the largest amount that the pools of a flavor can have of a resource; None if nothing limits it.

        Args:
            key: flavor and resource.
        """
        pools = self.by_flavor.get(key[0])
        bounds = [pool.maximum(key[1], counts_gpus=self.objects.is_complete) for pool in pools or ()]
        known = [bound for bound in bounds if bound is not None]
        return sum(known) if known and len(known) == len(bounds) else None

    def unshared_types(self, flavor: str) -> list[Capacity]:
        """Returns the capacity of one node, for every instance type of a flavor.

        The list is empty if an instance type is unknown, or has no GPUs, or its GPUs are shared or divided with MIG.
        """
        pools = self.by_flavor.get(flavor, [])
        types = [node for pool in pools for node in pool.types]
        is_known = bool(types) and all(pool.types for pool in pools) and all(node.get(GPU) for node in types)
        is_shared = any("nvidia.com/mig-" in name or name.endswith(".shared") for node in types for name in node)
        return types if is_known and not is_shared else []

    def is_certain(self, flavor: str) -> bool:
        """Returns whether only nodes of the input's pools can have the flavor's labels."""
        manifest = self.objects.find(GROUP, "ResourceFlavor", flavor)
        return self.objects.is_complete or (
            manifest is not None and dig(manifest.body, "spec", "nodeLabels", NODE_POOL) is not None
        )


def _pool(pool: PoolOfNodes, overlays: Overlays) -> Pool:
    spec = dig(pool.manifest.body, "spec")
    limits = {key: value for key, row in pairs(dig(spec, "limits")) if (value := amount(key, row)) is not None}
    replicas = amount(NODES, dig(spec, "replicas"))
    if replicas is not None:
        # A pool with a limit of 0 nodes has no capacity for quotas: Karpenter does not replace its nodes.
        limits = {NODES: 0 if limits.get(NODES) == 0 else replicas}
    names = sorted(pool.listed(INSTANCE_TYPE))
    catalog = overlays.catalog
    rows = [catalog.instance_type(name) for name in names]
    known = [row for row in rows if row is not None] if None not in rows else []
    types = tuple(_capacity(row, pool, overlays) for row in known if pool.can_start(instance_labels(catalog, row.type)))
    return Pool(pool.name, limits, types, POOL_LABEL in pool.labels)


def _capacity(row: InstanceType, pool: PoolOfNodes, overlays: Overlays) -> Capacity:
    catalog = overlays.catalog
    capacity = {NODES: 1, "cpu": row.vcpu * 1000, "memory": row.memory_mib * MIB, EFA: row.efa}
    capacity |= {GPU: row.gpu_count, **devices(catalog, row.type)}
    possible: Capacity = {}
    decided: set[str] = set()
    for overlay in overlays.of(pool, row.type, instance_labels(catalog, row.type)):
        for resource, quantity in overlay.value.capacity.items():
            value = amount(resource, quantity)
            if value is None or resource in decided:
                continue
            if overlay.is_sure:
                capacity[resource] = value
                decided.add(resource)
            else:
                possible[resource] = max(value, possible.get(resource, 0))
    return capacity | {key: max(value, capacity[key]) for key, value in possible.items() if key in capacity}
