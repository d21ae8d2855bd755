"""What the subjects of the judge look up, made once for a tree."""

from __future__ import annotations

from functools import cached_property

from compiler.verify.references.namespace_labels import Namespaces
from compiler.verify.references.nodes import Nodes
from compiler.verify.references.pods import Pods, pods
from compiler.verify.references.register import Register
from compiler.verify.references.sources import Delivery
from compiler.verify.tree import Tree


class Index:
    """A tree with everything that more than one subject asks for."""

    def __init__(self, tree: Tree) -> None:
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
    def namespaces(self) -> Namespaces:
        """The namespaces that exist, as far as the tree says."""
        return Namespaces(self.tree)

    @cached_property
    def delivery(self) -> Delivery:
        """What Argo CD's Applications sync and install."""
        return Delivery(self.tree)
