"""An index of the objects that admission and scheduling use: queues, flavors, node pools and namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gpuc.admission.policies import Policies
from gpuc.cluster.application import Delivery
from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.pool import Pool
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import Member, Queues, from_objects
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.selector import Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import selector
from gpuc.trace.rooms import Room


class ClusterIndex:
    """An object set with cached lookups. All traces in a cluster share one index."""

    def __init__(
        self,
        objects: ObjectSet,
        domain_nodes: Mapping[str, int] | None = None,
        accounts: Mapping[str, str] | None = None,
    ) -> None:
        self.objects = objects
        self.accounts = dict(accounts or {})
        """The ServiceAccounts of controllers as namespace/name by framework of Kueue, if they are not upstream's."""
        self.domain_nodes = dict(domain_nodes or {})
        """The number of nodes in one topology domain, by the node label of the level.

        The objects do not contain these numbers. For a level without a number, all nodes count as one domain."""
        self.all_topology: dict[str, bool] = {}
        """Cache: whether all flavors of a ClusterQueue have a topology, by the name of the queue."""
        self.pool_matches: dict[Any, Any] = {}
        """Cache: the node pools that accept pods, by the node selector terms and tolerations of the pods."""
        self._selectors: dict[tuple[int, tuple[str, ...]], Selector] = {}

    @cached_property
    def admission_policies(self) -> Policies:
        """The admission policies of the objects."""
        return Policies(self.objects)

    @cached_property
    def queues(self) -> Queues:
        """The ClusterQueues and Cohorts."""
        return from_objects(self.objects)

    @property
    def quotas(self) -> dict[str, Member]:
        """The quota of every ClusterQueue, by name."""
        return self.queues.by_name

    @property
    def nodes(self) -> Pools:
        """The Karpenter NodePools, indexed by the labels of their nodes."""
        return self.objects.once(Pools)

    @property
    def flavors(self) -> FlavorCapacity:
        """The node pools of the ResourceFlavors."""
        return self.objects.once(FlavorCapacity)

    @cached_property
    def rooms(self) -> dict[Pool, Room]:
        """The resources for pods on the nodes of each pool."""
        return {pool: Room(pool, self.objects, self.daemonsets, self.charts) for pool in self.nodes.pools}

    @cached_property
    def daemonsets(self) -> list[Pods]:
        """The pods of all DaemonSets."""
        return [pods for manifest in self.objects.of("apps", "DaemonSet") for pods in pods_of(manifest)]

    def selector(self, manifest: Manifest, *path: str) -> Selector:
        """Returns the LabelSelector at a path of an object."""
        key = id(manifest), path
        if key not in self._selectors:
            self._selectors[key] = selector(dig(manifest.body, *path))
        return self._selectors[key]

    def flavor(self, name: str) -> Manifest | None:
        """Returns the ResourceFlavor with a name; None if it does not exist."""
        return self.objects.find(GROUP, "ResourceFlavor", name)

    def topology_levels(self, flavor: Manifest) -> tuple[str, ...]:
        """Returns the node labels of the topology levels of a flavor; empty if the flavor has no known topology."""
        topology = self.objects.find(GROUP, "Topology", str(dig(flavor.body, "spec", "topologyName")))
        levels = items(dig(topology.body if topology else None, "spec", "levels"))
        return tuple(str(dig(level, "nodeLabel")) for _, level in levels)

    def has_topology(self, name: str) -> bool:
        """Returns whether a flavor exists and has a topology."""
        flavor = self.flavor(name)
        return flavor is not None and dig(flavor.body, "spec", "topologyName") is not None

    def in_namespace(self, kind: str, namespace: str) -> list[Manifest]:
        """Returns the objects of a namespace; the kind is LimitRange or ResourceQuota."""
        return self._in_namespace.get((kind, namespace), [])

    @cached_property
    def _in_namespace(self) -> dict[tuple[str, str], list[Manifest]]:
        by_namespace: dict[tuple[str, str], list[Manifest]] = {}
        for kind in ("LimitRange", "ResourceQuota"):
            for manifest in self.objects.of("", kind):
                by_namespace.setdefault((kind, manifest.namespace), []).append(manifest)
        return by_namespace

    @cached_property
    def charts(self) -> frozenset[str]:
        """The names of the Helm charts that Argo CD Applications install."""
        return frozenset(Delivery(self.objects).charts)
