"""What a tree says about scheduling, looked up once: queues, flavors, node pools and the nodes that these make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.closed_flavors import closed_flavors
from gpuc.trace.matching import Requirement, requirements
from gpuc.trace.pools import POOL, NodePool
from gpuc.trace.quota import Node, quota_nodes

KUEUE = "kueue.x-k8s.io"
KARPENTER = "karpenter.sh"


class Site:
    """A tree, indexed. Whoever walks a lot of work keeps one."""

    def __init__(self, tree: ObjectSet, domain_nodes: Mapping[str, int] | None = None) -> None:
        self.tree = tree
        self.domain_nodes = dict(domain_nodes or {})
        """Nodes of one domain by the node label of a topology level: what no object says. All nodes where unknown."""
        self.all_topology: dict[str, bool] = {}
        """Whether all flavors of a ClusterQueue are scheduled by topology, as far as somebody asked."""
        self.entries: dict[Any, Any] = {}
        """What was answered of node pools, by what was asked."""
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
        named, daemonsets = self._overlays, self.tree.of("apps", "DaemonSet")
        return [
            self._pool(each, [*named.get(each.name, ()), *named.get("", ())], daemonsets)
            for each in self.tree.of(KARPENTER, "NodePool")
        ]

    def candidates(self, term: Iterable[Requirement]) -> list[NodePool]:
        """The pools that can fulfil a pod's requirements, and a few that cannot: those that one label leaves."""
        best = self.pools
        for each in term:
            labelled = self._labelled.get(each.key) if each.operator == "In" else None
            if labelled is not None:
                left = [pool for value in (*dict.fromkeys(each.values), None) for pool in labelled.get(value, ())]
                best = left if len(left) < len(best) else best
        return best

    @cached_property
    def _labelled(self) -> dict[str, dict[str | None, list[NodePool]]]:
        """Pools by label of their template and its value; under None those that have not the label there."""
        found: dict[str, dict[str | None, list[NodePool]]] = {}
        for key in dict.fromkeys(key for pool in self.pools for key in pool.labels):
            for pool in self.pools:
                found.setdefault(key, {}).setdefault(pool.labels.get(key), []).append(pool)
        return found

    @cached_property
    def _overlays(self) -> dict[str, list[Manifest]]:
        """NodeOverlays by each pool that they name; under "" those that name none."""
        found: dict[str, list[Manifest]] = {}
        for each in self.tree.of(KARPENTER, "NodeOverlay"):
            asked = requirements(dig(each.body, "spec", "requirements"))
            pools = next((one.values for one in asked if one.key == POOL and one.operator == "In"), ("",))
            for name in dict.fromkeys(pools):
                found.setdefault(name, []).append(each)
        return found

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

    def _pool(self, manifest: Manifest, overlays: list[Manifest], daemonsets: list[Manifest]) -> NodePool:
        reference = dig(manifest.body, "spec", "template", "spec", "nodeClassRef")
        group, kind, name = (dig(reference, key) for key in ("group", "kind", "name"))
        texts = isinstance(group, str) and isinstance(kind, str) and isinstance(name, str)
        node_class = self.tree.find(group, kind, name) if texts else None
        return NodePool(manifest, node_class, overlays, daemonsets, self.charts)


def _all(value: Any) -> list[Any]:
    return [each for _, each in items(value)]
