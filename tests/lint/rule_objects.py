"""Generates objects for CEL rules of custom kinds, with valid, missing, extreme and wrong values."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from gpuc.catalog.schemas.schema_errors import validator
from gpuc.catalog.schemas.structural import Schema

Steps = tuple[str, ...]
ANY = "*"
"""The step to an item of a list, or to a value of a map of any keys."""
_TEXTS = (
    "a", "b", "node", "1", "0", "-1", "10", "5s", "1h", "10m", "a-b", "example.com", "example.com/x", "x@y", "10%",
    "http://a.b/c", "https://a.b", "/a", "/a//b", "1Gi", "100m", "2", "2024-01-01T00:00:00Z", "v1", "Exists", "In",
    "a.b", "", "al2023@latest", "a" * 64, "é", "ü" * 40, "-a", "A", "True", "subnet-0123456789abcdef0",
)  # fmt: skip
_NUMBERS = (0, 1, 2, 3, 10, 100, -1)
_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Spot:
    """A rule and its path."""

    steps: Steps
    rule: Schema

    @property
    def words(self) -> frozenset[str]:
        """The names in the rule."""
        return frozenset(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", self.rule["rule"]))

    @property
    def texts(self) -> list[str]:
        """The texts that the rule compares with."""
        return [single or other for single, other in _LITERAL.findall(self.rule["rule"]) if len(single or other) < 300]

    @property
    def numbers(self) -> list[int]:
        """The numbers that the rule compares with, and their neighbours."""
        found = [int(digits) for digits in re.findall(r"\b\d{1,9}\b", self.rule["rule"])]
        return [number + more for number in found for more in (-1, 0, 1)]


def spots(rules: Schema, steps: Steps = ()) -> Iterator[Spot]:
    """Every rule of a tree of rules."""
    for rule in rules.get("rules", ()):
        yield Spot(steps, rule)
    for name, below in rules.get("properties", {}).items():
        yield from spots(below, (*steps, name))
    for word in ("items", "additionalProperties"):
        if word in rules:
            yield from spots(rules[word], (*steps, ANY))


class Maker:
    """Bodies and names of objects of one kind, always the same ones for a seed."""

    def __init__(self, schema: Schema, seed: int) -> None:
        self._root = schema
        self._random = random.Random(seed)

    def body(self, spot: Spot) -> dict[str, Any]:
        """A body that usually has the value that the rule reads. The body may violate its schema."""
        self._spot = spot
        made = self._value(self._root, spot.steps, 0, is_near=not spot.steps)
        assert isinstance(made, dict)
        return made

    def name(self, spot: Spot) -> str:
        """A name that a server takes, mostly one that no rule minds."""
        wanted = [text for text in spot.texts if re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", text)]
        long = ["a" * 64, "a.b", "1a"] if not spot.steps else []
        return self._random.choice(["w", "w", *long, *wanted])

    def _value(self, given: Any, steps: Steps | None, depth: int, *, is_near: bool) -> Any:
        """A value of a schema; steps lead to the rule, None beside them; is_near at the rule and below."""
        schema = self._resolved(given)
        if "enum" in schema:
            fitting = [text for text in self._spot.texts if text in schema["enum"]]
            return self._random.choice([*schema["enum"], *fitting * 3])
        kinds = schema.get("type", "object" if "properties" in schema else "string")
        kind = self._random.choice(kinds) if isinstance(kinds, list) else kinds
        if depth > _DEEPEST:
            return None
        if kind == "object":
            return self._object(schema, steps, depth, is_near=is_near)
        if kind == "array":
            return self._list(schema, steps, depth, is_near=is_near)
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind in ("integer", "number"):
            return self._number(schema)
        return self._text(schema)

    def _object(self, schema: Schema, steps: Steps | None, depth: int, *, is_near: bool) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, child in schema.get("properties", {}).items():
            is_step = bool(steps) and steps is not None and steps[0] == name
            chance = 0.04 if depth < 4 else 0.0
            if is_step or name in schema.get("required", ()):
                chance = 0.97
            elif is_near and name in self._spot.words:
                chance = 0.5
            if self._random.random() < chance:
                below = steps[1:] if is_step and steps else None
                near = is_near or (is_step and below == ())
                made[name] = self._value(child, below, depth + 1, is_near=near)
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            is_step = bool(steps) and steps is not None and steps[0] == ANY
            least = max(schema.get("minProperties", 0), 1 if is_step else 0)
            for _ in range(self._count(least, schema.get("maxProperties"), is_near=is_near)):
                below = steps[1:] if is_step and steps else None
                key = self._text(schema.get("propertyNames", {}))
                made[key] = self._value(others, below, depth + 1, is_near=is_near or below == ())
        return made

    def _list(self, schema: Schema, steps: Steps | None, depth: int, *, is_near: bool) -> list[Any]:
        is_step = bool(steps) and steps is not None and steps[0] == ANY
        least = max(schema.get("minItems", 0), 1 if is_step else 0)
        below = steps[1:] if is_step and steps else None
        count = self._count(least, schema.get("maxItems"), is_near=is_near or is_step)
        near = is_near or below == ()
        return [self._value(schema.get("items"), below, depth + 1, is_near=near) for _ in range(count)]

    def _count(self, least: int, most: int | None, *, is_near: bool) -> int:
        more = self._random.choice((0, 1, 1, 2, 3) if is_near else (0, 0, 1))
        return min(least + more, most if most is not None else least + more)

    def _number(self, schema: Schema) -> int | float:
        low, high = schema.get("minimum"), schema.get("maximum")
        edges = [edge for edge in (low, high) if isinstance(edge, int)]
        wanted = [*self._spot.numbers * 2, *_NUMBERS, *edges]
        fitting = [number for number in wanted if (low is None or number >= low) and (high is None or number <= high)]
        if not fitting or self._random.random() < 0.02:
            fitting = wanted
        return self._random.choice(fitting)

    def _text(self, schema: Schema) -> str:
        similar = [*self._spot.texts, *(f"{text}x" for text in self._spot.texts), *self._spot.texts]
        wanted = [*similar, *_TEXTS] if self._random.random() < 0.6 else [*_TEXTS]
        fitting = _fitting(json.dumps(_leaf(schema), sort_keys=True), tuple(wanted))
        if self._random.random() < 0.02:
            return self._random.choice(wanted)
        if fitting:
            return self._random.choice(fitting)
        if "pattern" in schema:
            return self._matching(schema["pattern"])
        return "a" * int(schema.get("minLength", 1))

    def _matching(self, pattern: str) -> str:
        """A text that a regular expression matches, mostly."""
        try:
            return "".join(self._part(token) for token in _parser.parse(pattern))
        except (re.error, KeyError):
            return "a"

    def _part(self, token: Any) -> str:
        name, value = str(token[0]), token[1]
        if name == "LITERAL":
            return chr(value)
        if name == "IN":
            return self._part(self._random.choice([part for part in value if str(part[0]) != "NEGATE"]))
        if name == "RANGE":
            return chr(self._random.randint(*value))
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = value
            count = min(least + self._random.choice((0, 1, 2)), int(most))
            return "".join(self._part(part) for _ in range(count) for part in inner)
        if name == "SUBPATTERN":
            return "".join(map(self._part, value[3]))
        if name == "BRANCH":
            return "".join(map(self._part, self._random.choice(value[1])))
        return {"ANY": "a", "CATEGORY": "1", "NOT_LITERAL": "a"}.get(name, "")

    def _resolved(self, schema: Any) -> Schema:
        while isinstance(schema, dict) and "$ref" in schema:
            schema = self._root["$defs"][schema["$ref"].rpartition("/")[2]]
        return schema if isinstance(schema, dict) else {}


def _leaf(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("pattern", "minLength", "maxLength", "format", "not") if key in schema}


@cache
def _fitting(schema: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    compiled = validator(json.loads(schema))
    return tuple(text for text in texts if compiled.is_valid(text))
