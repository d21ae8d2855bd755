"""Parses YAML in the same way as Kubernetes, into Python values and the positions of the values."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Path, Severity, rule_table
from gpuc.documents.composer import Composer, LimitError, Node, events

rule_of = rule_table(__file__)
UNREADABLE = rule_of("LNT001")
DUPLICATE_KEY = rule_of("LNT002")
TOO_LARGE = rule_of("LNT003")
VALUES_MAX = 4_000_000
"""The limit of values in one document: enough for a dump of ten thousand pods."""
ALIASED_MAX = 1_000_000
"""The limit of values that the aliases of one document add."""
DEPTH_MAX = 100
_MERGE: Any = object()
"""Takes the place of the key `<<` until its map is complete."""
_FORBIDDEN = re.compile("[\0-\b\v\f\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""All characters except c-printable. Python compiles this set ten times as fast as the complement of c-printable.

Source: https://yaml.org/spec/1.1/#id868524
"""
_after_space = re.compile(r"\s*").match


class YamlText(Struct):
    """The documents in a YAML text, and findings about documents that cannot be parsed."""

    documents: list[tuple[int, Any]] = field(default_factory=list)
    """Pairs of the index of a document in the file and its plain data: dict, list, str, int, float, bool or None."""
    findings: list[Finding] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Offsets of the start and end of every document, also of a document without data."""


class Document(Struct, frozen=True):
    """One YAML document as a tree of nodes.

    The mark of a node is its line and column in the part of the file that was parsed. Both begin at 0.
    """

    root: Node
    start: Mark
    """The position of this part in the file."""

    def closest(self, path: Path, on_key: bool) -> tuple[Mark, Node, Path]:
        """Returns the mark and the node at a path, or of the closest parent if the path does not exist.

        Args:
            on_key: whether to return the mark of the key at the path, if the key exists.

        Returns:
            The mark, the node, and the rest of the path, which does not exist below the node.
        """
        node = self.root
        for depth, step in enumerate(path):
            is_list = isinstance(node.value, list) and isinstance(step, int)
            children = dict(enumerate(node.value)) if is_list else node.value if isinstance(node.value, dict) else {}
            if step not in children:
                return _mark(node.mark, self.start), node, path[depth:]
            if on_key and depth == len(path) - 1 and step in node.keys:
                return _mark(node.keys[step], self.start), children[step], ()
            node = children[step]
        return _mark(node.mark, self.start), node, ()


def read(text: str, file: str, *, aliased_max: int = ALIASED_MAX) -> YamlText:
    """Parses a YAML text. Returns its documents up to the first syntax error.

    Args:
        aliased_max: the limit of values that the aliases of one document add.
    """
    result = _read(text, file, [(0, len(text))], aliased_max)
    stream = _json_spans(text) if result.findings else []
    return _read(text, file, stream, aliased_max) if len(stream) > 1 else result


def load_all_yaml(text: str) -> list[Any]:
    """Parses a YAML text, and returns all its documents as Python values.

    Raises:
        ValueError: when the text is not YAML, or has a key twice.
    """
    result = read(text, "YAML")
    if result.findings:
        raise ValueError(f"{result.findings[0].mark}: {result.findings[0].message}")
    return [value for _, value in result.documents]


def load_yaml(text: str) -> Any:
    """Parses a YAML text with one document, and returns its Python value; None for an empty text.

    Raises:
        ValueError: when the text is not YAML, has a key twice or has several documents.
    """
    found = load_all_yaml(text)
    if len(found) > 1:
        raise ValueError("the text has several documents; expected one")
    return found[0] if found else None


@lru_cache(maxsize=64)
def document(text: str, file: str, index: int) -> Document | None:
    """Returns a document with the marks of its values; None if the text has no document with this index.

    The document is parsed again, without the rest of the file, because only values with findings need marks.

    Args:
        index: the index of the document in the text.
    """
    spans = _spans(text)
    if index >= len(spans):
        return None
    start, end = spans[index]
    composer = _Composer(text[start:end], mark_at(text, start, file), ALIASED_MAX)
    node = next(composer.documents(), (None, 0))[0]
    return Document(node, composer.start) if node is not None else None


@lru_cache(maxsize=4)
def _spans(text: str) -> list[tuple[int, int]]:
    return read(text, "").spans


def mark_at(text: str, offset: int, file: str) -> Mark:
    """Converts the number of a character in a text into line and column. \\r\\n, \\n and \\r end a line."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return Mark(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def _read(text: str, file: str, parts: list[tuple[int, int]], aliased_max: int) -> YamlText:
    """Returns the documents in some parts of a text. Each part is read independently of the parts before it."""
    from yaml import YAMLError

    result = YamlText()
    for start, end in parts:
        composer = _Composer(text[start:end], mark_at(text, start, file), aliased_max)
        ended = start
        try:
            for node, offset in composer.documents():
                result.findings += composer.findings
                if node is not None:
                    result.documents.append((len(result.spans), node.plain()))
                result.spans.append((ended, start + offset))
                ended = start + offset
        except (YAMLError, ValueError, RecursionError) as error:
            result.findings.append(_unreadable(error, text, composer.start))
    return result


class _Composer(Composer):
    """Builds the nodes of YAML 1.1 with merge keys, as Kubernetes reads it.

    Args:
        start: the position of the text in its file.
        aliased_max: the limit of values that the aliases of one document add.
    """

    def __init__(self, text: str, start: Mark, aliased_max: int) -> None:
        self.start = start
        self._uncounted = int(text.startswith("\ufeff"))  # libyaml does not count a byte order mark
        self._aliased_max = aliased_max
        super().__init__(events(text), VALUES_MAX, DEPTH_MAX)

    def documents(self) -> Iterator[tuple[Node | None, int]]:
        """Yields the root node and the end of every document. The root is None if the document is too large."""
        for event in self._events:
            if type(event).__name__ != "DocumentStartEvent":
                continue
            node = None
            try:
                node = self._node(next(self._events), 0)
            except LimitError as error:
                self.findings.append(TOO_LARGE.at((), str(error), mark=_mark(error.mark, self.start)))
            end = next(event for event in self._events if type(event).__name__ == "DocumentEndEvent")
            yield node, end.end_mark.index + self._uncounted
            self._begin()

    def _begin(self) -> None:
        super()._begin()
        self.findings: list[Finding] = []
        self._aliased = 0

    def _scalar(self, event: Any) -> Node:
        text: str = event.value
        return Node(event.start_mark, _value(text) if _is_plain(event) else text, raw=text)

    def _key(self, event: Any, depth: int) -> str:
        if type(event).__name__ == "ScalarEvent":
            if event.anchor:
                self._anchors[event.anchor] = self._scalar(event)
            text: str = event.value
            key = _key_text(_value(text), text) if _is_plain(event) else text
            return _MERGE if text == "<<" and event.implicit[0] else key
        node = self._node(event, depth)
        return "?" if isinstance(node.value, dict | list) else _key_text(node.value, node.raw)

    def _add_entry(self, node: Node, key: str, event: Any, child: Node) -> None:
        if key is _MERGE:
            node.value.setdefault(_MERGE, []).extend(child.value if isinstance(child.value, list) else [child])
            return
        if key in node.value:
            mark = _mark(event.start_mark, self.start)
            finding = DUPLICATE_KEY.at((), f'this map has the key "{key}" twice', mark=mark)
            if repr(node.value[key].plain()) == repr(child.plain()):  # nothing is lost
                finding = replace(finding, severity=Severity.WARNING)
            self.findings.append(finding)
        node.value[key] = child
        node.keys[key] = event.start_mark

    def _fill_map(self, node: Node, depth: int) -> None:
        super()._fill_map(node, depth)
        for part in node.value.pop(_MERGE, ()):
            if isinstance(part.value, dict):
                node.value = {**part.value, **node.value}
                node.keys = {**part.keys, **node.keys}

    def _alias(self, event: Any, depth: int) -> Node:
        node = super()._alias(event, depth)
        self._aliased += node.size
        if self._aliased > self._aliased_max:
            message = f"the aliases of this document expand to more than {self._aliased_max} values"
            raise LimitError(message, event.start_mark)
        return node

    def _lost_alias(self, event: Any, is_inside: bool) -> Node:
        if is_inside:
            raise LimitError(f"the alias *{event.anchor} is inside the value of its anchor", event.start_mark)
        from yaml import MarkedYAMLError

        raise MarkedYAMLError(None, None, "found undefined alias", event.start_mark)


_RESOLVED = tuple(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_WORDS = {
    form: value
    for words, value in (("y yes true on", True), ("n no false off", False), ("null", None))
    for word in words.split()
    for form in (word, word.capitalize(), word.upper())
} | {"": None, "~": None}
_float = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?").fullmatch


@lru_cache(maxsize=4096)
def _value(text: str) -> Any:
    """Returns the value of a scalar without quotes. Dates stay strings, as do infinity and NaN, which JSON lacks.

    y, n, yes, no, on and off are booleans; so are these words in upper case, and yes, no, on and off with a capital.

    Source: sigs.k8s.io/yaml v1.6.0, which Kubernetes 1.35 uses with go.yaml.in/yaml/v2 v2.4.3: resolve.go
    """
    if text in _WORDS:
        return _WORDS[text]
    plain = text if text[0] == "." else text.replace("_", "")
    if text[0] not in "+-.0123456789" or not plain.isascii():
        return text
    try:
        digits = plain.lstrip("+-")
        number = int(plain, 8 if digits.isdigit() and digits[0] == "0" else 0)
        if -(2**63) <= number < 2**64:
            return number
    except ValueError:  # no integer, or one of thousands of digits
        pass
    return float(plain) if _float(plain) and isfinite(float(plain)) else text


def _key_text(value: Any, text: str) -> str:
    """Returns the key in JSON of a scalar: 010 is "8", 1.10 is "1.1" and on is "true".

    Source: sigs.k8s.io/yaml v1.6.0 yaml.go, convertToJSONableObject. Kubernetes refuses null as a key, and prints up
    to 9 digits of a fraction; here null keeps its text, and a fraction has 6 digits.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else text if value is None else str(value)


def _is_plain(event: Any) -> bool:
    return bool(event.implicit[0] or event.tag in _RESOLVED)


def _mark(place: Any, start: Mark) -> Mark:
    """Returns the position in the file of a place in a part that begins at `start`."""
    return Mark(start.file, start.line + place.line, place.column + (1 if place.line else start.column))


def _unreadable(error: Exception, text: str, start: Mark) -> Finding:
    position = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or "the parser failed"
    if position is None and (forbidden := _FORBIDDEN.search(text)):
        problem = f"the character U+{ord(forbidden[0]):04X} is not allowed"
        return UNREADABLE.at((), f"not YAML: {problem}", mark=mark_at(text, forbidden.start(), start.file))
    mark = _mark(position, start) if position else Mark(start.file, 1, 1)
    if "nesting depth" in problem:  # the scanner of newer versions of libyaml has a limit too
        return TOO_LARGE.at((), f"the document is nested deeper than {DEPTH_MAX} levels", mark=mark)
    return UNREADABLE.at((), f"not YAML: {problem}", mark=mark)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Returns the spans of a stream of JSON objects, which kubectl reads too; an empty list for any other text.

    Source: k8s.io/apimachinery v0.35 pkg/util/yaml/decoder.go, YAMLOrJSONDecoder
    """
    spans: list[tuple[int, int]] = []
    decoder, end = json.JSONDecoder(parse_int=str, parse_float=str), 0
    while (start := _after_space(text, end).end()) < len(text):  # type: ignore[union-attr]
        try:
            end = decoder.raw_decode(text, start)[1] if text[start] == "{" else start
        except (ValueError, RecursionError):
            return []
        if end == start:
            return []
        spans.append((start, end))
    return spans
