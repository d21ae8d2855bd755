"""YAML text to plain data as Kubernetes reads it, and to the place of any value in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Path, Severity, declare_rule
from gpuc.lint.load.nodes import WHOLE, WRITTEN_MAX, BeyondError, Piece, json_pieces, pieces, roots

UNREADABLE = declare_rule(
    "LNT001", Severity.ERROR, "A file is not YAML.", "kubectl and Argo CD refuse it: nothing of it reaches the cluster."
)
DUPLICATE_KEY = declare_rule(
    "LNT002",
    Severity.ERROR,
    "A key stands twice in one map.",
    "The last one wins without a word, and strict readers refuse the file.",
    "k8s.io/apimachinery, pkg/util/yaml",
)
TOO_LARGE = declare_rule(
    "LNT003",
    Severity.ERROR,
    "A document is larger or deeper than objects are.",
    "A few nested aliases of a small file become billions of values, and deep nesting ends a reader's stack. What "
    "stands there is left out.",
)
VALUES_MAX = 1_000_000
"""So many values may come from aliases."""
DEPTH_MAX = 100
_MERGE = "tag:yaml.org,2002:merge"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Source: https://yaml.org/spec/1.1/#id868524, c-printable."""


@dataclass
class Text:
    """The documents of one file; a document that could not be read is a finding and no document."""

    documents: list[tuple[int, Any]] = field(default_factory=list)
    """Index among the file's documents, and plain data: dict, list, str, int, float, bool or None."""
    findings: list[Finding] = field(default_factory=list)


def read(text: str, file: str) -> Text:
    """All documents of a text; behind a syntax error nothing more is read."""
    result = _read(((root, written, WHOLE) for root, written in roots(text)), text, file)
    stream = json_pieces(text) if result.findings else []
    if len(stream) > 1:
        return _read(((root, written, each) for each in stream for root, written in roots(each.of(text))), text, file)
    return result


def _read(documents: Iterator[tuple[Any, int, Piece]], text: str, file: str) -> Text:
    from yaml import YAMLError

    result = Text()
    try:
        for index, (root, written, piece) in enumerate(documents):
            builder = _Builder(file, piece, VALUES_MAX + written, result.findings)
            if root is not None and (value := builder.build(root)) is not _REFUSED:
                result.documents.append((index, value))
    except BeyondError as error:
        result.findings.append(TOO_LARGE.at((), str(error), mark=_mark(error.node, file)))
    except (YAMLError, ValueError, RecursionError) as error:
        result.findings.append(_unreadable(error, text, file))
    return result


def marks(text: str, file: str, index: int) -> dict[tuple[Path, bool], Mark]:
    """Places of all values of a document by path, and of all keys: (path, True) is where the key at a path stands."""
    known = pieces(text)
    if index >= len(known):
        return {}
    piece = known[index]
    root = next((root for root, _ in roots(piece.of(text))), None)
    found: dict[tuple[Path, bool], Mark] = {}
    waiting: list[tuple[Path, Any]] = [((), root)] if root is not None else []
    while waiting:
        path, node = waiting.pop()
        found[path, False] = _mark(node, file, piece)
        if len(path) > DEPTH_MAX or len(found) > WRITTEN_MAX:
            continue
        if isinstance(node.value, list):
            for number, each in enumerate(node.value):
                if isinstance(each, tuple):
                    key, value = each
                    found.setdefault(((*path, str(key.value)), True), _mark(key, file, piece))
                    waiting.append(((*path, str(key.value)), value))
                else:
                    waiting.append(((*path, number), each))
    return found


_REFUSED = object()


class _Builder:
    """One document: plain data from nodes, with the bounds that aliases make necessary."""

    def __init__(self, file: str, piece: Piece, most: int, findings: list[Finding]) -> None:
        self._file = file
        self._piece = piece
        self._findings = findings
        self._left = most

    def build(self, node: Any) -> Any:
        """The data of a node; _REFUSED where there is too much of it, which is then a finding."""
        try:
            return self._value(node, 0)
        except BeyondError as error:
            mark = _mark(error.node, self._file, self._piece)
            self._findings.append(TOO_LARGE.at((), str(error), mark=mark))
            return _REFUSED

    def _value(self, node: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise BeyondError(f"aliases make more than {VALUES_MAX} values of this document", node)
        if depth > DEPTH_MAX:
            raise BeyondError(f"this is nested more than {DEPTH_MAX} levels deep, aliases expanded", node)
        kind = node.id
        if kind == "scalar":
            return _scalar(node)
        if kind == "sequence":
            return [self._value(each, depth + 1) for each in node.value]
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
                    DUPLICATE_KEY.at((), f'"{name}" stands twice in this map', mark=_mark(key, self._file, self._piece))
                )
            found[name] = self._value(value, depth + 1)
        return {**merged, **found} if merged else found


def _scalar(node: Any) -> Any:
    """What Kubernetes makes of a scalar: YAML 1.1, dates and binary data stay text."""
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
    """An integer of 64 bits; a larger one is a float in Kubernetes, or text where it is none.

    Source: go.yaml.in/yaml/v2 v2.4.2 resolve.go, which sigs.k8s.io/yaml reads by
    """
    plain = text.replace("_", "").lower()
    if len(plain) > _DIGITS_MAX:
        return _float(text)
    try:
        is_octal = plain.lstrip("+-").startswith("0") and plain.lstrip("+-").isdigit()
        found = int(plain, 8 if is_octal else 0)
    except ValueError:
        return text
    return found if -(2**63) <= found < 2**64 else _float(text)


_DIGITS_MAX = 400
"""More digits are no float either."""


def _float(text: str) -> Any:
    """A finite number; JSON has no others, so nothing takes them."""
    try:
        found = float(text.replace("_", ""))
    except ValueError:
        return text
    return found if isfinite(found) else text


def _mark(node: Any, file: str, piece: Piece = WHOLE) -> Mark:
    place = node.start_mark
    return Mark(file, piece.line + place.line + 1, place.column + 1 + (0 if place.line else piece.column))


def _unreadable(error: Exception, text: str, file: str) -> Finding:
    place = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None)
    if place is None and (found := _FORBIDDEN.search(text)):
        before = text[: found.start()]
        mark = Mark(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        return UNREADABLE.at((), f"this is not YAML: the character U+{ord(found[0]):04X} is not allowed", mark=mark)
    mark = Mark(file, place.line + 1, place.column + 1) if place else Mark(file, 1, 1)
    return UNREADABLE.at((), f"this is not YAML: {problem or 'the parser gave up'}", mark=mark)
