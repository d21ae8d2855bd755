"""A YAML value that remembers where it was written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuc.diagnostics.finding import Mark, Path


@dataclass(slots=True)
class Node:
    """One value of a document, before its layers are merged."""

    mark: Mark
    """Its first character; of a map or list in block style the first entry."""
    value: Any
    """str, int, float, bool or None; a list of nodes; or a dict of nodes by key."""
    keys: dict[str, Mark] = field(default_factory=dict)
    """Of a map: where each key stands."""
    raw: str = ""
    """Of a number or null: the text as written, empty where nothing was written at all."""
    size: int = 1
    """How many values it holds, itself included, aliases expanded."""
    height: int = 0
    """How many levels lie beneath it, aliases expanded."""


@dataclass(slots=True)
class Flat:
    """A node as plain data, with the places of all values and keys by path."""

    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    raw: dict[Path, str] = field(default_factory=dict)

    def add(self, node: Node, path: Path = ()) -> Any:
        """The plain data of a node, whose places are noted under the path."""
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
