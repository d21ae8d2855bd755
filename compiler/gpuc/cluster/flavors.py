"""Finds the node pools that each ResourceFlavor selects, and the largest capacity that its quotas can use."""

from functools import cached_property

from gpuc.catalog.reserved_keys import is_by_cloud
from gpuc.cluster.pool import Pool
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import from_objects
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import NODE_POOL, normal
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.selectors import taints, tolerations


class ResourceFlavor:
    """A ResourceFlavor of Kueue: labels, taints and topology of its nodes, and tolerations that Kueue adds to pods."""

    def __init__(self, manifest: Manifest, objects: ObjectSet) -> None:
        spec = dig(manifest.body, "spec")
        self.manifest = manifest
        self.name = manifest.name
        self.labels = labels(dig(spec, "nodeLabels"))
        self.taints = taints(dig(spec, "nodeTaints"))
        self.tolerations = tolerations(dig(spec, "tolerations"))
        self.topology = str(dig(spec, "topologyName") or "")
        """The name of the Topology; empty for a flavor without a topology."""
        topology = objects.find(GROUP, "Topology", self.topology)
        levels = items(dig(topology.body if topology else None, "spec", "levels"))
        self.levels = tuple(str(dig(level, "nodeLabel")) for _, level in levels)
        """The node labels of the topology levels; empty if the Topology is missing."""


def every_flavor(objects: ObjectSet) -> tuple[ResourceFlavor, ...]:
    """Returns all ResourceFlavors among the objects, also if several have the same name."""
    return tuple(ResourceFlavor(row, objects) for row in objects.of(GROUP, "ResourceFlavor"))


def resource_flavors(objects: ObjectSet) -> dict[str, ResourceFlavor]:
    """Returns the ResourceFlavors among the objects, by name."""
    return {row.name: row for row in objects.once(every_flavor)}


class FlavorCapacity:
    """The node pools that each ResourceFlavor selects, and the capacity of these pools."""

    def __init__(self, objects: ObjectSet) -> None:
        self.objects = objects
        self._pools = objects.once(Pools)
        self._labels = {name: flavor.labels for name, flavor in objects.once(resource_flavors).items()}

    @cached_property
    def by_flavor(self) -> dict[str, list[Pool]]:
        """The node pools by ResourceFlavor. The list is empty if nodes of no node pool may also match the flavor."""
        return {
            name: self._pools.matching(wanted) if self._distinguishes(wanted) else []
            for name, wanted in self._labels.items()
        }

    def _distinguishes(self, flavor_labels: dict[str, str]) -> bool:
        """Returns whether a label of a flavor distinguishes nodes of the pools from other nodes."""
        known = {key for pool in self._pools.pools for key in pool.offer}
        named = [key for key in map(normal, flavor_labels) if key in known]
        return not all(map(is_by_cloud, named))

    @cached_property
    def queued(self) -> frozenset[str]:
        """The names of the node pools that some ResourceFlavor selects. Kueue counts the use of these pools.

        A flavor without labels selects all nodes.
        """
        return frozenset(pool.name for wanted in self._labels.values() for pool in self._pools.matching(wanted))

    @cached_property
    def unqueued(self) -> list[Pool]:
        """The node pools that no ResourceFlavor selects; empty if the objects contain no ResourceFlavor."""
        return [pool for pool in self._pools.pools if self._labels and pool.name not in self.queued]

    @cached_property
    def closed(self) -> frozenset[str]:
        """The names of the ResourceFlavors whose node pools all have a limit of 0 nodes, so that they start no nodes.

        No ClusterQueue has a quota for a closed flavor, so running pods continue, and Kueue admits no new pods. If a
        ClusterQueue has a quota for the flavor, the limit of 0 nodes is a mistake, and the flavor is not in the result.
        """
        if not any(pool.is_closed for pool in self._pools.pools):
            return frozenset()
        pools = {name: self._pools.matching(wanted) for name, wanted in self._labels.items() if wanted}
        names = {name for name, of in pools.items() if of and all(pool.is_closed for pool in of)}
        return frozenset(names - from_objects(self.objects).with_quota if names else names)

    def maximum(self, key: Key) -> int | None:
        """Returns the largest amount of a resource that the pools of a ResourceFlavor can have; None without a limit.

        Args:
            key: the name of the flavor and the name of the resource.
        """
        pools = self.by_flavor.get(key[0])
        bounds = [pool.maximum(key[1], counts_gpus=self.objects.is_complete) for pool in pools or ()]
        known = [bound for bound in bounds if bound is not None]
        return sum(known) if known and len(known) == len(bounds) else None

    def unshared_types(self, flavor: str) -> list[Amounts]:
        """Returns the capacity of a node for each instance type in the pools of a ResourceFlavor.

        The list is empty if an instance type is unknown, or has no GPUs, or its GPUs are shared or divided with MIG.
        """
        pools = self.by_flavor.get(flavor, [])
        types = [node for pool in pools for node in pool.bounds]
        is_known = bool(types) and all(pool.bounds for pool in pools) and all(node.get(GPU) for node in types)
        is_shared = any("nvidia.com/mig-" in name or name.endswith(".shared") for node in types for name in node)
        return types if is_known and not is_shared else []

    def is_certain(self, flavor: str) -> bool:
        """Returns whether gpuc knows the node pools of all nodes that match the ResourceFlavor."""
        return self.objects.is_complete or NODE_POOL in self._labels.get(flavor, {})
