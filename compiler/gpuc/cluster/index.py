"""The index of an object set, which all checks of the set share."""

from functools import cached_property

from gpuc.cluster.application import Delivery
from gpuc.cluster.namespace import Namespaces, namespaces
from gpuc.cluster.pools import Pools
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import Pods, pods
from gpuc.objects.symbol_table import SymbolTable


class Index:
    """An object set, with pods, node pools, namespaces and references that are read once for all checks."""

    def __init__(self, objects: ObjectSet) -> None:
        self.tree = objects
        self.symbols = SymbolTable(objects)

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pods of all pod templates."""
        return tuple(pods(self.tree))

    @property
    def nodes(self) -> Pools:
        """The node pools."""
        return self.tree.once(Pools)

    @cached_property
    def namespaces(self) -> Namespaces:
        """The known namespaces, with their labels."""
        return namespaces(self.tree)

    @cached_property
    def delivery(self) -> Delivery:
        """The sources of all Argo CD Applications, with the folders and charts that the sources install."""
        return Delivery(self.tree)
