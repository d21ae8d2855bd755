"""What a tree says about scheduling, looked up once: queues, flavors, node pools and the nodes that these make."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from compiler.manifest import Manifest
from compiler.verify.scheduling.pools import NodePool
from compiler.verify.scheduling.quota import Node, quota_tree
from compiler.verify.tree import Tree, dig, items

KUEUE = "kueue.x-k8s.io"
KARPENTER = "karpenter.sh"


class Site:
    """A tree, indexed. Whoever walks a lot of work keeps one."""

    def __init__(self, tree: Tree, domain_nodes: Mapping[str, int] | None = None) -> None:
        self.tree = tree
        self.domain_nodes = dict(domain_nodes or {})
        """Nodes of one domain by the node label of a topology level: what no object says. All nodes where unknown."""

    @cached_property
    def quotas(self) -> dict[str, Node]:
        """Quota of each ClusterQueue by name."""
        return quota_tree(self.tree.of(KUEUE, "ClusterQueue"), self.tree.of(KUEUE, "Cohort"))

    @cached_property
    def pools(self) -> list[NodePool]:
        """All node pools that Karpenter keeps."""
        overlays = self.tree.of(KARPENTER, "NodeOverlay")
        daemonsets = self.tree.of("apps", "DaemonSet")
        return [self._pool(each, overlays, daemonsets) for each in self.tree.of(KARPENTER, "NodePool")]

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
