"""What a tree says about scheduling, looked up once: queues, flavors, node pools and the nodes that these make."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gpuc.kubernetes.selector import Selector
from gpuc.manifest.manifest import Manifest
from gpuc.objects.node_pools import KARPENTER, Overlays, PoolIndex
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import selector
from gpuc.trace.closed_flavors import closed_flavors
from gpuc.trace.pools import NodePool
from gpuc.trace.quota import Node, quota_nodes

KUEUE = "kueue.x-k8s.io"


class ClusterIndex:
    """A tree, indexed. Whoever walks a lot of work keeps one."""

    def __init__(self, tree: ObjectSet, domain_nodes: Mapping[str, int] | None = None) -> None:
        self.tree = tree
        self.domain_nodes = dict(domain_nodes or {})
        """Nodes of one domain by the node label of a topology level: what no object says. All nodes where unknown."""
        self.all_topology: dict[str, bool] = {}
        """Whether all flavors of a ClusterQueue are scheduled by topology, as far as somebody asked."""
        self.entries: dict[Any, Any] = {}
        """What was answered of node pools, by what was asked."""
        self._selectors: dict[tuple[int, tuple[str, ...]], Selector] = {}
        self.constraints: dict[str, list[Manifest]] = {}
        """The constraints that judge pods, by those namespaces that somebody asked for."""

    @cached_property
    def quotas(self) -> dict[str, Node]:
        """Quota of each ClusterQueue by name."""
        nodes = quota_nodes(self.tree.of(KUEUE, "ClusterQueue"), self.tree.of(KUEUE, "Cohort"))
        return {node.name: node for node in nodes if node.is_queue}

    @cached_property
    def pools(self) -> list[NodePool]:
        """All node pools that Karpenter keeps."""
        overlays = Overlays(self.tree)
        rest = self.tree, overlays, self.daemonsets, self.charts
        return [NodePool(manifest, *rest) for manifest in self.tree.of(KARPENTER, "NodePool")]

    @cached_property
    def pool_index(self) -> PoolIndex[NodePool]:
        """The node pools by the labels of their nodes."""
        return PoolIndex(self.pools)

    @cached_property
    def daemonsets(self) -> list[Pods]:
        """The pods of all DaemonSets."""
        return [pods for manifest in self.tree.of("apps", "DaemonSet") for pods in pods_of(manifest)]

    def selector(self, manifest: Manifest, *path: str) -> Selector:
        """The LabelSelector at a path of an object, read once."""
        key = id(manifest), path
        if key not in self._selectors:
            self._selectors[key] = selector(dig(manifest.body, *path))
        return self._selectors[key]

    @cached_property
    def closed_flavors(self) -> frozenset[str]:
        """Flavors whose node pools may start no node."""
        return closed_flavors(self.tree)

    def flavor(self, name: str) -> Manifest | None:
        """A ResourceFlavor."""
        return self.tree.find(KUEUE, "ResourceFlavor", name)

    def topology(self, flavor: Manifest) -> Manifest | None:
        """The Topology that a flavor names, if the tree has it."""
        name = dig(flavor.body, "spec", "topologyName")
        return self.tree.find(KUEUE, "Topology", name) if isinstance(name, str) else None

    def inside(self, kind: str, namespace: str) -> list[Manifest]:
        """Objects of the core group in a namespace."""
        return self._inside.get((kind, namespace), [])

    @cached_property
    def local_queues(self) -> dict[str, list[Manifest]]:
        """LocalQueues by the ClusterQueue that they lead to."""
        found: dict[str, list[Manifest]] = {}
        for each in self.tree.of(KUEUE, "LocalQueue"):
            found.setdefault(str(dig(each.body, "spec", "clusterQueue")), []).append(each)
        return found

    @cached_property
    def _inside(self) -> dict[tuple[str, str], list[Manifest]]:
        found: dict[tuple[str, str], list[Manifest]] = {}
        for kind in ("LimitRange", "ResourceQuota"):
            for each in self.tree.of("", kind):
                found.setdefault((kind, each.namespace), []).append(each)
        return found

    @cached_property
    def charts(self) -> frozenset[str]:
        """Helm charts that the tree's Argo CD Applications install."""
        specs = [dig(each.body, "spec") for each in self.tree.of("argoproj.io", "Application")]
        sources = [source for spec in specs for source in (dig(spec, "source"), *_all(dig(spec, "sources")))]
        return frozenset(name for source in sources if isinstance(name := dig(source, "chart"), str))


def _all(value: Any) -> list[Any]:
    return [each for _, each in items(value)]
