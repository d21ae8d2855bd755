"""Text to nodes: one YAML document, every trap in it a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Rule, Severity, StageError, declare_rule
from gpuc.source import scalar
from gpuc.source.encoding import mark_at
from gpuc.source.events import events
from gpuc.source.node import Node

DEPTH_LIMIT = 50
NODE_LIMIT = 10_000

DUPLICATE = declare_rule(
    "YAML003", Severity.ERROR, "A key stands twice in one map.",
    "Most readers keep the last one without a word: a pool or a quota would vanish.",
    "https://yaml.org/spec/1.2.2/#3213-node-comparison",
)  # fmt: skip
TOO_MUCH = declare_rule(
    "YAML004", Severity.ERROR, "The document grows beyond its bounds.",
    f"At most {NODE_LIMIT} values after aliases are expanded, and {DEPTH_LIMIT} levels: a few nested aliases of a "
    "small file can become billions of values.",
)  # fmt: skip
ALIAS = declare_rule("YAML005", Severity.ERROR, "An alias names no anchor before it, or stands within its own anchor.",
    "It has no value, or an endless one.")  # fmt: skip
MERGE_KEY = declare_rule(
    "YAML006", Severity.ERROR, "A merge key << stands in the file.",
    "YAML 1.2 has no merge keys. Shared content is a layer, named under extends: one way to merge, with one rule, "
    "and every value keeps the place where it was written.",
    "https://yaml.org/type/merge.html",
)  # fmt: skip
DOCUMENTS = declare_rule(
    "YAML011", Severity.ERROR, "Several documents stand in one file.",
    "One file is one cluster or one layer; a second document would be ignored.",
)  # fmt: skip
EMPTY = declare_rule(
    "YAML012", Severity.ERROR, "The file holds no value.", "A cluster that nobody described cannot be compiled."
)
NOT_A_MAP = declare_rule("YAML013", Severity.ERROR, "The file is not a map.", "It holds no apiVersion, kind and spec.")
KEY = declare_rule(
    "YAML017", Severity.ERROR, "A key is not text.",
    "A number, a boolean, null or a collection as key becomes another text in every tool that turns YAML into JSON.",
)  # fmt: skip
TAG = declare_rule(
    "YAML018", Severity.ERROR, "A tag or a YAML directive stands in the file.",
    "Tags change what a value is, in some readers they run code; a spec is plain data in YAML 1.2.",
)  # fmt: skip


_directive = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*(?=%)").match


@lru_cache(maxsize=64)
def compose(text: str, file: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """The document of a text, or None where there is none to go on with, and all findings about it.

    Kept for the next cluster that extends the same layer; nobody changes the nodes.
    """
    composer = _Composer(file)
    if directive := _directive(text):
        mark = mark_at(text, directive.end(), file)
        return None, (TAG.at((), "a directive stands here; a spec is YAML 1.2", fix="remove it", mark=mark),)
    try:
        root = composer.document(events(text, file))
    except StageError as stop:
        return None, (*composer.findings, *stop.findings)
    return root, tuple(composer.findings)


class _Composer:
    """Builds nodes from events; it stops at what makes the rest unreadable and notes everything else."""

    def __init__(self, file: str) -> None:
        self.findings: list[Finding] = []
        self._file = file
        self._anchors: dict[str, Node | None] = {}
        self._left = NODE_LIMIT

    def document(self, events: Iterator[Any]) -> Node | None:
        next(events)
        event = next(events)
        if type(event).__name__ == "StreamEndEvent":
            self._add(EMPTY, Mark(self._file, 1, 1), "the file holds no value")
            return None
        root = self._node(next(events), events, 0)
        next(events)
        event = next(events)
        if type(event).__name__ != "StreamEndEvent":
            self._add(
                DOCUMENTS, self._mark(event), "a second document begins here; a file holds one", "move it to a file"
            )
        if isinstance(root.value, dict):
            return root
        if root.value is None:
            self._add(EMPTY, root.mark, "the file holds no value")
        else:
            self._add(
                NOT_A_MAP,
                root.mark,
                f"the file is {'a list' if isinstance(root.value, list) else 'one text'}, not a map",
            )
        return None

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        kind = type(event).__name__
        mark = self._mark(event)
        if kind == "AliasEvent":
            return self._alias(event.anchor, mark, depth)
        self._spend(1, depth, mark)
        if event.anchor:
            self._anchors[event.anchor] = None
        if event.tag is not None:
            self._add(
                TAG,
                mark,
                f"the tag {event.tag} stands here; a spec is plain data",
                'remove it; text stands in "quotes"',
            )
        if kind == "ScalarEvent":
            node = self._scalar(event, mark)
        else:
            node = Node(mark, {} if kind == "MappingStartEvent" else [])
            fill = self._map if kind == "MappingStartEvent" else self._list
            for entry in fill(node, events, depth + 1):
                node.size += entry.size
                node.height = max(node.height, entry.height + 1)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _map(self, node: Node, events: Iterator[Any], depth: int) -> Iterator[Node]:
        while type(event := next(events)).__name__ != "MappingEndEvent":
            mark = self._mark(event)
            key = self._key(event, mark, events, depth)
            entry = self._node(next(events), events, depth)
            yield entry
            if entry.value is None and not entry.raw:
                entry.mark = mark
            if key in node.value:
                first = node.keys[key]
                self._add(
                    DUPLICATE,
                    mark,
                    f"{key} stands twice in this map, first in line {first.line}, column {first.column}",
                )
                continue
            node.keys[key] = mark
            node.value[key] = entry

    def _list(self, node: Node, events: Iterator[Any], depth: int) -> Iterator[Node]:
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            node.value.append(self._node(event, events, depth))
            yield node.value[-1]

    def _key(self, event: Any, mark: Mark, events: Iterator[Any], depth: int) -> str:
        if type(event).__name__ != "ScalarEvent":
            self._node(event, events, depth)
            self._add(KEY, mark, "a key is a collection or an alias; keys are text")
            return f"{mark.line}:{mark.column}"
        text: str = event.value
        if event.anchor or event.tag is not None:
            self._add(TAG, mark, f"the key {text} has an anchor or a tag; keys are plain text", "remove it")
        if not _is_plain(event):
            return text
        if text == "<<":
            self._add(MERGE_KEY, mark, "<< is a merge key; shared content is a layer", "name a layer under extends")
        value, trap = scalar.resolve(text)
        if trap:
            self._add(trap, mark, f"the key {text} is not text for every reader", f'write "{text}"')
        elif not isinstance(value, str):
            self._add(KEY, mark, f"the key {text or 'that is empty'} is not text", f'write "{text}"')
        return text

    def _scalar(self, event: Any, mark: Mark) -> Node:
        text: str = event.value
        if not _is_plain(event):
            return Node(mark, text)
        value, trap = scalar.resolve(text)
        if trap:
            self._add(trap, mark, f"{text} means different things to different readers", scalar.advice(trap, text))
        return Node(mark, value, raw="" if isinstance(value, str | bool) else text)

    def _alias(self, anchor: str, mark: Mark, depth: int) -> Node:
        node = self._anchors.get(anchor)
        if node is None:
            why = "stands within its own anchor" if anchor in self._anchors else "names no anchor before it"
            self._add(ALIAS, mark, f"*{anchor} {why}")
            return Node(mark, "")
        self._spend(node.size, depth + node.height, mark)
        return node

    def _spend(self, nodes: int, depth: int, mark: Mark) -> None:
        self._left -= nodes
        if self._left < 0:
            raise StageError(
                [TOO_MUCH.at((), f"the document has more than {NODE_LIMIT} values, aliases expanded", mark=mark)]
            )
        if depth > DEPTH_LIMIT:
            raise StageError([TOO_MUCH.at((), f"the document is nested deeper than {DEPTH_LIMIT} levels", mark=mark)])

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _add(self, trap: Rule, mark: Mark, message: str, fix: str = "") -> None:
        self.findings.append(trap.at((), message, fix=fix, mark=mark))


def _is_plain(event: Any) -> bool:
    return event.style not in ("'", '"', "|", ">") and event.tag is None
