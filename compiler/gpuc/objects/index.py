"""What the subjects of the judge look up, made once for a tree."""

from __future__ import annotations

from functools import cached_property

from gpuc.objects.application_sources import Delivery
from gpuc.objects.namespace_labels import Namespaces
from gpuc.objects.node_pools import Nodes, Overlays
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import Pods, pods
from gpuc.objects.symbol_table import Register


class Index:
    """A tree with everything that more than one subject asks for."""

    def __init__(self, tree: ObjectSet) -> None:
        self.tree = tree
        self.register = Register(tree)

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The templates of all pods."""
        return tuple(pods(self.tree))

    @cached_property
    def nodes(self) -> Nodes:
        """The node pools, their labels and taints."""
        return Nodes(self.tree)

    @cached_property
    def overlays(self) -> Overlays:
        """The overlays of the node pools' nodes."""
        return Overlays(self.tree)

    @cached_property
    def namespaces(self) -> Namespaces:
        """The namespaces that exist, as far as the tree says."""
        return Namespaces(self.tree)

    @cached_property
    def delivery(self) -> Delivery:
        """What Argo CD's Applications sync and install."""
        return Delivery(self.tree)
