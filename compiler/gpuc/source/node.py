"""YAML values with their places in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuc.diagnostics.finding import Mark, Path


@dataclass(slots=True)
class Node:
    """One value of a document before layers are merged."""

    mark: Mark
    """Place of the first character. A map or list in block style begins with its first entry."""
    value: Any
    """str, int, float, bool or None; a list of nodes; or a dict of nodes by key."""
    keys: dict[str, Mark] = field(default_factory=dict)
    """Place of each key of a map."""
    raw: str = ""
    """Original text of a number or null; empty if there is no text."""
    size: int = 1
    """Number of values with expanded aliases, including the node itself."""
    height: int = 0
    """Number of levels below the node, with expanded aliases."""


@dataclass(slots=True)
class PlainData:
    """Plain data of nodes, with the places of all values and keys by path."""

    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    raw: dict[Path, str] = field(default_factory=dict)

    def add(self, node: Node, path: Path = ()) -> Any:
        """Returns the plain data of a node. Records the places of its values under the path."""
        self.marks[path] = node.mark
        if isinstance(node.value, dict):
            for key, mark in node.keys.items():
                self.keys[(*path, key)] = mark
            return {key: self.add(entry, (*path, key)) for key, entry in node.value.items()}
        if isinstance(node.value, list):
            return [self.add(entry, (*path, index)) for index, entry in enumerate(node.value)]
        if node.raw:
            self.raw[path] = node.raw
        return node.value
