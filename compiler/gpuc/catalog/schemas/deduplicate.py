"""Makes JSON Schemas smaller: equal subschemas are moved to $defs, and references replace them."""

import json

from gpuc.catalog.schemas.structural import Schema, with_parts

_MIN_LENGTH = 60
"""Minimum length in characters of a schema that is moved to $defs."""


class Deduplicator:
    """Stores equal subschemas once, and counts how often each is used.

    First add all schemas, then call `expanded` for each schema, then read `definitions`.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._nodes: list[Schema] = []
        """The schemas by number. The value of $ref is the number of a subschema."""
        self._uses: list[int] = []
        self._labels: list[str] = []
        self._names: dict[int, str] = {}
        self.definitions: Schema = {}
        """The subschemas with several uses, by name. Complete after the last call of `expanded`."""

    def add(self, schema: Schema, label: str) -> int:
        """Adds a schema, and returns the number for `expanded`. The label is the schema's name in `definitions`."""
        children: list[int] = []

        def numbered(part: Schema, name: str) -> Schema:
            children.append(self.add(part, name or label))
            return {"$ref": children[-1]}

        node = with_parts(schema, numbered)
        text = json.dumps(node, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self._nodes)
            self._nodes.append(node)
            self._uses.append(0)
            self._labels.append(label)
            for child in children:
                self._uses[child] += 1
        return self._numbers[text]

    def expanded(self, number: int) -> Schema:
        """Returns the schema with this number. References replace its subschemas that are used several times."""
        return with_parts(self._nodes[number], lambda part, _: self._inline_or_reference(part["$ref"]))

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


def deduplicated(schema: Schema) -> Schema:
    """Returns the schema with references to $defs in place of equal subschemas."""
    deduplicator = Deduplicator()
    root = deduplicator.expanded(deduplicator.add(schema, "root"))
    return {**root, "$defs": deduplicator.definitions} if deduplicator.definitions else root
