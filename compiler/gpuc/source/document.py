"""Parses one YAML document into nodes and reports ambiguous or forbidden YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Related, Rule, Severity, StageError, declare_rule
from gpuc.source import scalar
from gpuc.source.encoding import mark_at
from gpuc.source.events import events
from gpuc.source.node import Node

DEPTH_LIMIT = 50
NODE_LIMIT = 10_000

DUPLICATE = declare_rule(
    "YAML003", Severity.ERROR, "A map contains the same key twice.",
    "Most parsers use only the last value, without a warning: a pool or a quota would be lost.",
    "https://yaml.org/spec/1.2.2/#3213-node-comparison",
)  # fmt: skip
TOO_MUCH = declare_rule(
    "YAML004", Severity.ERROR, "The document is too large.",
    f"At most {NODE_LIMIT} values with expanded aliases, and {DEPTH_LIMIT} levels, are allowed. A few nested "
    "aliases in a small file can expand to billions of values.",
)  # fmt: skip
ALIAS = declare_rule("YAML005", Severity.ERROR, "An alias has no earlier anchor, or is inside the value of its anchor.",
    "The alias has no value, or an infinite one.")  # fmt: skip
MERGE_KEY = declare_rule(
    "YAML006", Severity.ERROR, "The file contains a merge key <<.",
    "YAML 1.2 has no merge keys. Put shared content into a layer and list it under extends: gpuc then merges it, "
    "and findings show the line of each value.",
    "https://yaml.org/type/merge.html",
)  # fmt: skip
DOCUMENTS = declare_rule(
    "YAML011", Severity.ERROR, "A file contains several documents.",
    "A file is one cluster or one layer. gpuc would ignore a second document.",
)  # fmt: skip
EMPTY = declare_rule(
    "YAML012", Severity.ERROR, "The file is empty.", "An empty file describes neither a cluster nor a layer."
)
NOT_A_MAP = declare_rule(
    "YAML013", Severity.ERROR, "The file is not a map.", "A spec file has apiVersion, kind and spec."
)
KEY = declare_rule(
    "YAML017", Severity.ERROR, "A key is not a string.",
    "Tools that convert YAML to JSON turn a number, a boolean, null or a collection as key into different strings.",
)  # fmt: skip
TAG = declare_rule(
    "YAML018", Severity.ERROR, "The file contains a tag or a YAML directive.",
    "Tags change the type of a value, and in some parsers they run code. A spec is plain data in YAML 1.2.",
)  # fmt: skip
UNPAIRED = declare_rule(
    "YAML024", Severity.ERROR, "A quotation mark or a bracket in a text has no counterpart.",
    "YAML reads the quotation mark or the bracket as a letter of the text. If that is intended, put the complete text "
    "in quotes.",
)  # fmt: skip

_OPENING = {'"': '"', "'": "'", "]": "[", "}": "{"}
"""The sign that begins a value, by the sign that ends the value."""
_key_without_colon = re.compile(r"([A-Za-z][\w.-]*) +[\[{].*").fullmatch


_directive = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*(?=%)").match


@lru_cache(maxsize=64)
def compose(text: str, file: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """Parses a YAML text. Returns the root node and all findings about the text.

    The root node is None if the text cannot be parsed, is empty or is not a map. Other clusters that extend the same
    layer get the same node from the cache, so callers must not change nodes.
    """
    composer = _Composer(file)
    if directive := _directive(text):
        mark = mark_at(text, directive.end(), file)
        return None, (
            TAG.at(
                (),
                "the file has a YAML directive; expected YAML 1.2 without directives",
                fix="remove the directive",
                mark=mark,
            ),
        )
    try:
        root = composer.document(events(text, file))
    except StageError as stop:
        return None, (*_before(composer.findings, stop.findings[0].mark), *stop.findings)
    return root, tuple(composer.findings)


def _before(findings: list[Finding], end: Mark | None) -> list[Finding]:
    """Returns the findings before a position. After a forgotten bracket, findings are about misread text."""
    return [found for found in findings if not (end and found.mark) or _place(found.mark) < _place(end)]


def _place(mark: Mark) -> tuple[int, int]:
    return mark.line, mark.column


class _Composer:
    """Builds nodes from parser events and collects findings. Raises a StageError if the document is too large."""

    def __init__(self, file: str) -> None:
        self.findings: list[Finding] = []
        self._file = file
        self._anchors: dict[str, Node | None] = {}
        self._nodes_left = NODE_LIMIT

    def document(self, events: Iterator[Any]) -> Node | None:
        """Returns the root node, or None if the document is empty or not a map."""
        next(events)
        event = next(events)
        if type(event).__name__ == "StreamEndEvent":
            self._add(EMPTY, Mark(self._file, 1, 1), "the file is empty")
            return None
        root = self._node(next(events), events, 0)
        next(events)
        event = next(events)
        if type(event).__name__ != "StreamEndEvent":
            message = "a second document begins here; expected one document"
            self._add(DOCUMENTS, self._mark(event), message, "move the second document to another file")
        if isinstance(root.value, dict):
            return root
        if root.value is None:
            self._add(EMPTY, root.mark, "the file is empty")
        else:
            self._add(
                NOT_A_MAP,
                root.mark,
                f"the file is {'a list' if isinstance(root.value, list) else 'a scalar'}, not a map",
            )
        return None

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        kind = type(event).__name__
        mark = self._mark(event)
        if kind == "AliasEvent":
            return self._alias(event.anchor, mark, depth)
        self._count(1, depth, mark)
        if event.anchor:
            self._anchors[event.anchor] = None
        if event.tag is not None:
            self._add(
                TAG,
                mark,
                f"the tag {event.tag} is not allowed; a spec is plain data",
                f'remove the tag {event.tag}; put strings in "quotes"',
            )
        if kind == "ScalarEvent":
            node = self._scalar(event, mark)
        else:
            node = Node(mark, {} if kind == "MappingStartEvent" else [])
            fill = self._map if kind == "MappingStartEvent" else self._list
            for child in fill(node, events, depth + 1):
                node.size += child.size
                node.height = max(node.height, child.height + 1)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _map(self, node: Node, events: Iterator[Any], depth: int) -> Iterator[Node]:
        """Adds the entries of a map to its node, and yields the entries."""
        while type(event := next(events)).__name__ != "MappingEndEvent":
            mark = self._mark(event)
            key = self._key(event, mark, events, depth)
            before = len(self.findings)
            child = self._node(next(events), events, depth)
            yield child
            if _key_without_colon(key) and _is_plain(event):  # `nodes {max: 8}`: the value ends with the bracket
                self.findings[before:] = [finding for finding in self.findings[before:] if finding.id != UNPAIRED.id]
            if child.value is None and not child.raw:
                child.mark = mark
            if key in node.value:
                first = [Related("first defined here", mark=node.keys[key])]
                self.findings.append(DUPLICATE.at((), f"the map already has the key {key}", mark=mark, related=first))
                continue
            node.keys[key] = mark
            node.value[key] = child

    def _list(self, node: Node, events: Iterator[Any], depth: int) -> Iterator[Node]:
        """Adds the entries of a list to its node, and yields the entries."""
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            node.value.append(self._node(event, events, depth))
            yield node.value[-1]

    def _key(self, event: Any, mark: Mark, events: Iterator[Any], depth: int) -> str:
        """Returns the key. A key that is no scalar is replaced by its position, which is different for every key."""
        if type(event).__name__ != "ScalarEvent":
            self._node(event, events, depth)
            self._add(KEY, mark, "the key is a collection or an alias; expected a string")
            return f"{mark.line}:{mark.column}"
        text: str = event.value
        if event.anchor or event.tag is not None:
            self._add(
                TAG,
                mark,
                f"the key {text} has an anchor or a tag; expected a string",
                f"remove the anchor or tag of key {text}",
            )
        if not _is_plain(event):
            return text
        self._check_typography(event, mark)
        if match := _key_without_colon(text):
            self._add(UNPAIRED, mark, f"the colon after {match[1]} is missing", f"add a colon after {match[1]}")
        if text == "<<":
            message = "<< is a merge key; put shared content into a layer"
            self._add(MERGE_KEY, mark, message, "list the layer under extends and remove <<")
        value, ambiguity = scalar.resolve(text)
        quoted = f'put the key in quotes: "{text}"'
        if ambiguity:
            self._add(ambiguity, mark, f"the key {text} is not a string for every YAML parser", quoted)
        elif not isinstance(value, str):
            self._add(KEY, mark, f"the key {text or '(empty)'} is not a string; expected a string", quoted)
        return text

    def _scalar(self, event: Any, mark: Mark) -> Node:
        text: str = event.value
        if not _is_plain(event):
            return Node(mark, text)
        self._check_typography(event, mark)
        value, ambiguity = scalar.resolve(text)
        if ambiguity:
            message = f"{text} has different values in different YAML parsers"
            self._add(ambiguity, mark, message, scalar.fix_of(ambiguity, text))
        return Node(mark, value, raw="" if isinstance(value, str | bool) else text)

    def _check_typography(self, event: Any, mark: Mark) -> None:
        """Reports quotation marks and spaces of a text without quotes that its author did not intend as letters."""
        text: str = event.value
        if not text.isascii():
            from gpuc.source import typography  # imported here, because most specs are ASCII

            is_one_line = event.start_mark.line == event.end_mark.line
            found = typography.space_in_plain(text, mark, is_one_line) or typography.curly_quotes(text, mark)
            if found:
                self.findings.append(found)
                return
        opening = _OPENING.get(text[-1:], "")
        is_bracket = opening in ("[", "{")
        if opening and (opening not in text if is_bracket else " " not in text and text.count(opening) == 1):
            sign = "bracket" if is_bracket else "quotation mark"
            message = f"{text} ends with a {sign} and does not begin with one"
            self._add(UNPAIRED, mark, message, f"add the opening {sign}: {opening}{text}")

    def _alias(self, anchor: str, mark: Mark, depth: int) -> Node:
        """Returns the node of the anchor. Counts the values of the node again, because the alias repeats the values."""
        node = self._anchors.get(anchor)
        if node is None:
            problem = "is inside its own anchor" if anchor in self._anchors else "has no earlier anchor"
            fix = "" if anchor.isidentifier() else f'put the value in quotes: "*{anchor}"'
            self._add(ALIAS, mark, f"the alias *{anchor} {problem}", fix)
            return Node(mark, "")
        self._count(node.size, depth + node.height, mark)
        return node

    def _count(self, nodes: int, depth: int, mark: Mark) -> None:
        """Counts values, and raises a StageError if the document has too many values or too many levels."""
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            raise StageError(
                [TOO_MUCH.at((), f"the document has more than {NODE_LIMIT} values with expanded aliases", mark=mark)]
            )
        if depth > DEPTH_LIMIT:
            raise StageError([TOO_MUCH.at((), f"the document is nested deeper than {DEPTH_LIMIT} levels", mark=mark)])

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _add(self, rule: Rule, mark: Mark, message: str, fix: str = "") -> None:
        self.findings.append(rule.at((), message, fix=fix, mark=mark))


def _is_plain(event: Any) -> bool:
    return event.style not in ("'", '"', "|", ">") and event.tag is None
