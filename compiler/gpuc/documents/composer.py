"""Builds trees of nodes from YAML documents. Each node has its position. A document that is too large is refused."""

from collections.abc import Iterator
from typing import Any, NoReturn

from msgspec import Struct, field


def events(text: str, is_fast: bool = True) -> Iterator[Any]:
    """Returns the events of a YAML parser for a text, from which Composer builds nodes.

    Args:
        is_fast: whether the parser is libyaml. PyYAML's own parser says more about mistakes.
    """
    import yaml  # imported here, because completion reads no file

    return yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader) if is_fast else yaml.SafeLoader)


class Node(Struct):
    """A value of a YAML document with its position. An alias in the document is the same Node as its anchor."""

    mark: Any
    """Position of the first character. A map or list in block style begins with its first entry."""
    value: Any
    """str, int, float, bool or None; a list of nodes; or a dict of nodes by key."""
    keys: dict[str, Any] = field(default_factory=dict)
    """Position of each key of a map."""
    raw: str = ""
    """The text of a number or null in the file. In a spec, all other values have an empty string."""
    size: int = 1
    """Number of values in the node after all aliases are expanded, including the node itself."""
    height: int = 0
    """Number of levels below the node after all aliases are expanded."""

    def plain(self) -> Any:
        """Returns the value as dict, list, str and so on, without positions."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        return [child.plain() for child in self.value] if isinstance(self.value, list) else self.value


class LimitError(ValueError):
    """A document has too many values or levels to be read. A few nested aliases can expand to billions of values."""

    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        self.mark = mark


class Composer:
    """Builds nodes from the events of a YAML parser. Subclasses decide about scalars, keys, repeated keys and aliases.

    Args:
        events: the events of the parser, which `events` returns.
        values_max: the limit of values in a document, with expanded aliases.
        depth_max: the limit of levels in a document, with expanded aliases.
    """

    def __init__(self, events: Iterator[Any], values_max: int, depth_max: int) -> None:
        self._events = events
        self._values_max = values_max
        self._depth_max = depth_max
        self._begin()

    def _begin(self) -> None:
        """Begins a document."""
        self._anchors: dict[str, Node | None] = {}
        self._values_left = self._values_max

    def _node(self, event: Any, depth: int) -> Node:
        """Returns the node that begins with an event.

        Raises:
            LimitError: if the document exceeds a limit.
        """
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event, depth)
        self._values_left -= 1
        if self._values_left < 0 or depth > self._depth_max:
            self._refuse(event)
        if event.anchor:
            self._anchors[event.anchor] = None
        left = self._values_left
        if kind == "ScalarEvent":
            node = self._scalar(event)
        elif kind == "MappingStartEvent":
            node = Node(self._mark(event), {})
            self._fill_map(node, depth + 1)
        else:
            node = Node(self._mark(event), [])
            self._fill_list(node, depth + 1)
        node.size += left - self._values_left
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _fill_map(self, node: Node, depth: int) -> None:
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            key = self._key(event, depth)
            child = self._node(next(self._events), depth)
            if child.height >= node.height:
                node.height = child.height + 1
            self._add_entry(node, key, event, child)

    def _fill_list(self, node: Node, depth: int) -> None:
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            child = self._node(event, depth)
            if child.height >= node.height:
                node.height = child.height + 1
            node.value.append(child)

    def _alias(self, event: Any, depth: int) -> Node:
        """Returns the node of the anchor. Counts the values of the node again, because the alias repeats the values."""
        node = self._anchors.get(event.anchor)
        if node is None:
            return self._lost_alias(event, is_inside=event.anchor in self._anchors)
        self._values_left -= node.size
        if self._values_left < 0 or depth + node.height > self._depth_max:
            self._refuse(event)
        return node

    def _refuse(self, event: Any) -> NoReturn:
        message = f"the document is nested deeper than {self._depth_max} levels"
        if self._values_left < 0:
            message = f"the document has more than {self._values_max} values with expanded aliases"
        raise LimitError(message, self._mark(event))

    def _mark(self, event: Any) -> Any:
        """Returns the position of an event, for the nodes."""
        return event.start_mark

    def _scalar(self, event: Any) -> Node:
        raise NotImplementedError

    def _key(self, event: Any, depth: int) -> str:
        """Returns the key that begins with an event; reads the events of a key that is a collection."""
        raise NotImplementedError

    def _add_entry(self, node: Node, key: str, event: Any, child: Node) -> None:
        """Adds an entry to a map, which may have the key already."""
        raise NotImplementedError

    def _lost_alias(self, event: Any, is_inside: bool) -> Node:
        """Returns the node for an alias whose anchor does not come before it, or whose anchor contains it."""
        raise NotImplementedError
