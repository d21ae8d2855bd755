"""Moves equal subschemas to $defs."""

from __future__ import annotations

import json
from typing import Any

from gpuc.catalog.schemas.structural import Schema

_MIN_LENGTH = 60
"""Minimum length in characters of a schema that is moved to $defs."""


class Deduplicator:
    """Stores equal subschemas once and counts their uses.

    First add all schemas, then call `expanded` for each schema, then read `definitions`.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._nodes: list[Schema] = []
        self._uses: list[int] = []
        self._labels: list[str] = []
        self._names: dict[int, str] = {}
        self.definitions: Schema = {}
        """The subschemas with several uses, by name. Complete after the last call of `expanded`."""

    def add(self, schema: Schema, label: str) -> int:
        """Adds a schema and returns its number. The label becomes the name of the schema in `definitions`."""
        node = {word: self._children(word, value, label) for word, value in sorted(schema.items())}
        text = json.dumps(node, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self._nodes)
            self._nodes.append(node)
            self._uses.append(0)
            self._labels.append(label)
            for child in _numbers(node):
                self._uses[child] += 1
        return self._numbers[text]

    def _children(self, word: str, value: Any, label: str) -> Any:
        if word == "properties":
            return {name: self.add(child, name) for name, child in sorted(value.items())}
        if word in {"items", "additionalProperties", "not", "propertyNames"} and isinstance(value, dict):
            return {"": self.add(value, label)}
        if word in {"allOf", "anyOf", "oneOf"}:
            return [self.add(part, label) for part in value]
        return value

    def expanded(self, number: int) -> Schema:
        """Returns the schema with this number. References replace the subschemas that have several uses."""
        return {word: self._expand(word, value) for word, value in self._nodes[number].items()}

    def _expand(self, word: str, value: Any) -> Any:
        if word == "properties":
            return {name: self._inline_or_reference(child) for name, child in value.items()}
        if word in {"items", "additionalProperties", "not", "propertyNames"} and isinstance(value, dict):
            return self._inline_or_reference(value[""])
        if word in {"allOf", "anyOf", "oneOf"}:
            return [self._inline_or_reference(part) for part in value]
        return value

    def _inline_or_reference(self, number: int) -> Schema:
        if number in self._names:
            return {"$ref": f"#/$defs/{self._names[number]}"}
        schema = self.expanded(number)
        if self._uses[number] < 2 or len(json.dumps(schema)) < _MIN_LENGTH:
            return schema
        name = self._label(number)
        self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _label(self, number: int) -> str:
        label, name, count = self._labels[number], self._labels[number], 1
        while name in self.definitions:
            count += 1
            name = f"{label}{count}"
        self._names[number] = name
        return name


def _numbers(node: Schema) -> list[int]:
    numbers: list[int] = list(node.get("properties", {}).values())
    single = ("items", "additionalProperties", "not", "propertyNames")
    numbers.extend(node[word][""] for word in single if isinstance(node.get(word), dict))
    for word in ("allOf", "anyOf", "oneOf"):
        numbers.extend(node.get(word, []))
    return numbers


def deduplicated(schema: Schema) -> Schema:
    """Returns the schema with its equal subschemas in $defs."""
    deduplicator = Deduplicator()
    root = deduplicator.expanded(deduplicator.add(schema, "root"))
    return {**root, "$defs": deduplicator.definitions} if deduplicator.definitions else root
