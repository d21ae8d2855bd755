"""An index of the objects that admission and scheduling use: queues, flavors, node pools and namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gpuc.admission.policies import Policies
from gpuc.cluster.application import Delivery
from gpuc.kubernetes.node_pool import ZONE
from gpuc.kubernetes.selector import Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.node_pools import KARPENTER, Overlays, Pool, PoolIndex
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import selector
from gpuc.trace.closed_flavors import closed_flavors
from gpuc.trace.node_class import region_of
from gpuc.trace.pools import NodePool
from gpuc.trace.quota import Node, quota_nodes

KUEUE = "kueue.x-k8s.io"


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
    def quotas(self) -> dict[str, Node]:
        """The quota of every ClusterQueue, by name."""
        nodes = quota_nodes(self.objects.of(KUEUE, "ClusterQueue"), self.objects.of(KUEUE, "Cohort"))
        return {node.name: node for node in nodes if node.is_queue}

    @cached_property
    def pools(self) -> list[NodePool]:
        """All Karpenter NodePools."""
        overlays, manifests = Overlays(self.objects), self.objects.of(KARPENTER, "NodePool")
        region = region_of(zone for manifest in manifests for zone in Pool(manifest).listed(ZONE))
        return [
            NodePool(manifest, self.objects, overlays, self.daemonsets, self.charts, region) for manifest in manifests
        ]

    @cached_property
    def pool_index(self) -> PoolIndex[NodePool]:
        """The node pools, indexed by the labels of their nodes."""
        return PoolIndex(self.pools)

    @cached_property
    def queued_pools(self) -> frozenset[str]:
        """The names of the node pools that a ResourceFlavor selects, so that Kueue counts their nodes."""
        flavors = [dig(flavor.body, "spec", "nodeLabels") for flavor in self.objects.of(KUEUE, "ResourceFlavor")]
        return frozenset(pool.name for labels in flavors for pool in self.pool_index.matching(labels))

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

    @cached_property
    def closed_flavors(self) -> frozenset[str]:
        """The names of flavors whose node pools are limited to 0 nodes."""
        return closed_flavors(self.objects)

    def flavor(self, name: str) -> Manifest | None:
        """Returns the ResourceFlavor with a name; None if it does not exist."""
        return self.objects.find(KUEUE, "ResourceFlavor", name)

    def topology(self, flavor: Manifest) -> Manifest | None:
        """Returns the Topology that a flavor references; None if the Topology does not exist."""
        name = dig(flavor.body, "spec", "topologyName")
        return self.objects.find(KUEUE, "Topology", name) if isinstance(name, str) else None

    def in_namespace(self, kind: str, namespace: str) -> list[Manifest]:
        """Returns the objects of a namespace; the kind is LimitRange or ResourceQuota."""
        return self._in_namespace.get((kind, namespace), [])

    @cached_property
    def local_queues(self) -> dict[str, list[Manifest]]:
        """The LocalQueues by the name of their ClusterQueue."""
        by_queue: dict[str, list[Manifest]] = {}
        for local_queue in self.objects.of(KUEUE, "LocalQueue"):
            by_queue.setdefault(str(dig(local_queue.body, "spec", "clusterQueue")), []).append(local_queue)
        return by_queue

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
