"""Reads YAML text as Kubernetes does, into plain data and the marks of the values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Path, Severity, declare_rule
from gpuc.lint.load.yaml_nodes import FULL_TEXT, NODES_MAX, LimitError, Span, document_spans, json_spans, roots

UNREADABLE = declare_rule(
    "LNT001",
    Severity.ERROR,
    "A file is not YAML.",
    "kubectl and Argo CD refuse the file, and none of its objects reaches the cluster.",
)
DUPLICATE_KEY = declare_rule(
    "LNT002",
    Severity.ERROR,
    "A map has the same key twice.",
    "The last value silently replaces the others, and strict parsers refuse the file.",
    "k8s.io/apimachinery, pkg/util/yaml",
)
TOO_LARGE = declare_rule(
    "LNT003",
    Severity.ERROR,
    "A document is too large or nested too deeply.",
    "A few nested aliases can expand to billions of values, and deep nesting overflows the stack of a parser. "
    "gpuc lint ignores the document.",
)
VALUES_MAX = 1_000_000
"""The limit of values that the aliases of one document add."""
DEPTH_MAX = 100
_MERGE = "tag:yaml.org,2002:merge"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Source: https://yaml.org/spec/1.1/#id868524, c-printable."""


@dataclass
class YamlText:
    """The documents of one text, and the findings about documents that cannot be read."""

    documents: list[tuple[int, Any]] = field(default_factory=list)
    """Pairs of the index of a document in the file and its plain data: dict, list, str, int, float, bool or None."""
    findings: list[Finding] = field(default_factory=list)


def read(text: str, file: str, *, values_max: int = VALUES_MAX) -> YamlText:
    """Returns the documents of a text, up to the first syntax error.

    Args:
        values_max: the limit of values that the aliases of one document add.
    """
    result = _read(((root, count, FULL_TEXT) for root, count in roots(text)), text, file, values_max)
    stream = json_spans(text) if result.findings else []
    if len(stream) > 1:
        objects = ((root, count, span) for span in stream for root, count in roots(span.of(text)))
        return _read(objects, text, file, values_max)
    return result


def _read(documents: Iterator[tuple[Any, int, Span]], text: str, file: str, values_max: int) -> YamlText:
    from yaml import YAMLError

    result = YamlText()
    try:
        for index, (root, node_count, span) in enumerate(documents):
            builder = _Builder(file, span, values_max, node_count, result.findings)
            if root is not None and (value := builder.build(root)) is not _REFUSED:
                result.documents.append((index, value))
    except LimitError as error:
        result.findings.append(TOO_LARGE.at((), str(error), mark=_mark(error, file)))
    except (YAMLError, ValueError, RecursionError) as error:
        result.findings.append(_unreadable(error, text, file))
    return result


def marks(text: str, file: str, index: int) -> dict[tuple[Path, bool], Mark]:
    """Returns the marks of a document: the value at a path by (path, False), the value's key by (path, True).

    Args:
        index: the index of the document in the text.
    """
    spans = document_spans(text)
    if index >= len(spans):
        return {}
    span = spans[index]
    root = next((root for root, _ in roots(span.of(text))), None)
    found: dict[tuple[Path, bool], Mark] = {}
    waiting: list[tuple[Path, Any]] = [((), root)] if root is not None else []
    while waiting:
        path, node = waiting.pop()
        found[path, False] = _mark(node, file, span)
        if len(path) > DEPTH_MAX or len(found) > NODES_MAX:
            continue
        if isinstance(node.value, list):
            for number, child in enumerate(node.value):
                if isinstance(child, tuple):
                    key, value = child
                    found.setdefault(((*path, str(key.value)), True), _mark(key, file, span))
                    waiting.append(((*path, str(key.value)), value))
                else:
                    waiting.append(((*path, number), child))
    return found


_REFUSED = object()


class _Builder:
    """Builds the maps, lists and scalars of one YAML document, up to a limit: aliases can repeat values many times."""

    def __init__(self, file: str, span: Span, values_max: int, node_count: int, findings: list[Finding]) -> None:
        self._file = file
        self._span = span
        self._findings = findings
        self._values_max = values_max
        self._values_left = values_max + node_count

    def build(self, node: Any) -> Any:
        """Returns the data of a node. If the data exceeds a limit, adds a finding and returns _REFUSED."""
        try:
            return self._value(node, 0)
        except LimitError as error:
            mark = _mark(error, self._file, self._span)
            self._findings.append(TOO_LARGE.at((), str(error), mark=mark))
            return _REFUSED

    def _value(self, node: Any, depth: int) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            raise LimitError(
                f"the aliases of this document expand to more than {self._values_max} values", node.start_mark
            )
        if depth > DEPTH_MAX:
            raise LimitError(
                f"the document is nested more than {DEPTH_MAX} levels deep, with aliases expanded", node.start_mark
            )
        kind = node.id
        if kind == "scalar":
            return _scalar(node)
        if kind == "sequence":
            return [self._value(item, depth + 1) for item in node.value]
        return self._map(node, depth)

    def _map(self, node: Any, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                parts = value.value if value.id == "sequence" else [value]
                for part in parts:
                    data = self._value(part, depth + 1)
                    merged = {**(data if isinstance(data, dict) else {}), **merged}
                continue
            name = str(key.value) if key.id == "scalar" else "?"
            if name in found:
                self._findings.append(
                    DUPLICATE_KEY.at(
                        (), f'this map has the key "{name}" twice', mark=_mark(key, self._file, self._span)
                    )
                )
            found[name] = self._value(value, depth + 1)
        return {**merged, **found} if merged else found


def _scalar(node: Any) -> Any:
    """Returns the value of a scalar as Kubernetes reads YAML 1.1: dates and binary data stay strings."""
    tag, text = node.tag.rpartition(":")[2], node.value
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() in ("true", "yes", "on")
        case "int":
            return _integer(text)
        case "float":
            return _float(text)
    return text


def _integer(text: str) -> Any:
    """Returns an integer of at most 64 bits, a float for a larger number, or the text if it is not a number.

    Source: go.yaml.in/yaml/v2 v2.4.2 resolve.go, which sigs.k8s.io/yaml uses
    """
    plain = text.replace("_", "").lower()
    if len(plain) > _DIGITS_MAX:
        return _float(text)
    try:
        is_octal = plain.lstrip("+-").startswith("0") and plain.lstrip("+-").isdigit()
        number = int(plain, 8 if is_octal else 0)
    except ValueError:
        return text
    return number if -(2**63) <= number < 2**64 else _float(text)


_DIGITS_MAX = 400
"""The digits of the largest float: a number with more digits is infinite as a float."""


def _float(text: str) -> Any:
    """Returns a finite float. Infinity and NaN, which JSON lacks, stay strings, as does text that is not a number."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return text
    return number if isfinite(number) else text


def _mark(node: Any, file: str, span: Span = FULL_TEXT) -> Mark:
    start = node.start_mark
    return Mark(file, span.line + start.line + 1, start.column + 1 + (0 if start.line else span.column))


def _unreadable(error: Exception, text: str, file: str) -> Finding:
    position = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None)
    if position is None and (forbidden := _FORBIDDEN.search(text)):
        before = text[: forbidden.start()]
        mark = Mark(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        return UNREADABLE.at((), f"not YAML: the character U+{ord(forbidden[0]):04X} is not allowed", mark=mark)
    mark = Mark(file, position.line + 1, position.column + 1) if position else Mark(file, 1, 1)
    return UNREADABLE.at((), f"not YAML: {problem or 'the parser failed'}", mark=mark)
