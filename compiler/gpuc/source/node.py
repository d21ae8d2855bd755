"""YAML values with their positions in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuc.diagnostics.finding import Mark, Path


@dataclass(slots=True)
class Node:
    """One value of a document before layers are merged."""

    mark: Mark
    """Position of the first character. A map or list in block style begins with its first entry."""
    value: Any
    """str, int, float, bool or None; a list of nodes; or a dict of nodes by key."""
    keys: dict[str, Mark] = field(default_factory=dict)
    """Position of each key of a map."""
    raw: str = ""
    """The text of a number or null in the file; an empty string for all other values."""
    size: int = 1
    """Number of values in the node after all aliases are expanded, including the node itself."""
    height: int = 0
    """Number of levels below the node after all aliases are expanded."""


@dataclass(slots=True)
class PlainData:
    """Converts nodes to plain data, and records the positions of all values and keys by path."""

    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    raw: dict[Path, str] = field(default_factory=dict)

    def add(self, node: Node, path: Path = ()) -> Any:
        """Returns the plain data of the node at the path, and records the positions of its values and keys."""
        self.marks[path] = node.mark
        if isinstance(node.value, dict):
            for key, mark in node.keys.items():
                self.keys[(*path, key)] = mark
            return {key: self.add(child, (*path, key)) for key, child in node.value.items()}
        if isinstance(node.value, list):
            return [self.add(child, (*path, index)) for index, child in enumerate(node.value)]
        if node.raw:
            self.raw[path] = node.raw
        return node.value
