"""The class Index: values that all checks of a set of objects share, so that gpuc computes each value once."""

from functools import cached_property

from gpuc.cluster.application import Delivery
from gpuc.cluster.namespace import Namespaces, namespaces
from gpuc.cluster.pools import Pools
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import Pods, pods
from gpuc.objects.symbol_table import SymbolTable


class Index:
    """A set of objects with its pods, node pools, namespaces and references, which gpuc reads once for all checks."""

    def __init__(self, objects: ObjectSet) -> None:
        self.tree = objects
        self.symbols = SymbolTable(objects)

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pods that the pod templates in the objects describe."""
        return tuple(pods(self.tree))

    @property
    def nodes(self) -> Pools:
        """The node pools among the objects."""
        return self.tree.once(Pools)

    @cached_property
    def namespaces(self) -> Namespaces:
        """The namespaces that the objects define or name, with their labels."""
        return namespaces(self.tree)

    @cached_property
    def delivery(self) -> Delivery:
        """The sources of all Argo CD Applications, with the folders and charts that the sources install."""
        return Delivery(self.tree)
