"""Parses a YAML document, and finds forbidden YAML and values that YAML parsers read in different ways."""

import re
from functools import lru_cache
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Related, Rule, Severity, declare_rule, rule_table
from gpuc.documents.composer import Composer, LimitError, Node, events
from gpuc.documents.reader import mark_at
from gpuc.source import scalar

DEPTH_LIMIT = 50
NODE_LIMIT = 10_000

rule_of = rule_table(__file__)
DUPLICATE = rule_of("YAML003")
TOO_MUCH = declare_rule("YAML004", Severity.ERROR, "The document is too large.",
    f"At most {NODE_LIMIT} values with expanded aliases, and {DEPTH_LIMIT} levels, are allowed. A few nested "
    "aliases in a small file can expand to billions of values.")  # fmt: skip
ALIAS = rule_of("YAML005")
MERGE_KEY = rule_of("YAML006")
DOCUMENTS = rule_of("YAML011")
EMPTY = rule_of("YAML012")
NOT_A_MAP = rule_of("YAML013")
KEY = rule_of("YAML017")
TAG = rule_of("YAML018")
UNPAIRED = rule_of("YAML024")

_OPENING = {'"': '"', "'": "'", "]": "[", "}": "{"}
"""The sign that begins a value, by the sign that ends the value."""
_key_without_colon = re.compile(r"([A-Za-z][\w.-]*) +[\[{].*").fullmatch


_NO_VALUES = r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*"
_directive = re.compile(_NO_VALUES + "(?=%)").match
_end_of_document = re.compile(rf"^(?:\.\.\.|%)[^\r\n]*[\r\n]{_NO_VALUES} *\Z", re.MULTILINE).search


@lru_cache(maxsize=64)
def compose(text: str, file: str) -> tuple[Node | None, tuple[Finding, ...]]:
    """Parses a YAML text. Returns its root node and all findings about the text.

    The root node is None if the text cannot be parsed, is empty or is not a map. Other clusters that extend the same
    layer get the same node from the cache, so callers must not change nodes.
    """
    if directive := _directive(text):
        return None, (_has_directive(mark_at(text, directive.end(), file)),)
    # libyaml allows some tabs between words, and says less about mistakes.
    stop: Exception | None = None
    for is_fast in (True, False)["\t" in text :]:
        composer = _Composer(text, file, is_fast)
        try:
            return composer.document(), tuple(composer.findings)
        except LimitError as error:
            stops = [TOO_MUCH.at((), str(error), mark=error.mark)]
            break
        except Exception as error:  # the parser also raises ValueError, for some invalid escapes
            stop = error if stop is None or hasattr(error, "problem_mark") else stop
    else:
        stops = _explained(text, file, stop)
    # After a forgotten bracket, the findings behind the stop are about misread text.
    end = stops[0].mark
    return None, (*(found for found in composer.findings if not end or _place(found.mark) < _place(end)), *stops)


def _explained(text: str, file: str, error: Exception | None) -> list[Finding]:
    """Returns the findings that explain an exception of the parser."""
    from gpuc.source.syntax import ParserStop, explain  # imported here, because a correct spec needs no explanation

    context = getattr(error, "context_mark", None)
    position = getattr(error, "problem_mark", None) or context
    start = Mark(file, context.line + 1, context.column + 1) if context else None
    problem = getattr(error, "problem", None) or "the parser cannot continue"
    mark = Mark(file, position.line + 1, position.column + 1) if position else Mark(file, 1, 1)
    is_outside = "expected '<document start>'" in problem or "sequence entries are not allowed" in problem
    if is_outside and position and (end := _end_of_document(text[: position.index])):
        return [_has_directive(mark_at(text, end.start(), file)) if end[0][0] == "%" else _second_document(mark)]
    return explain(text, ParserStop(mark, problem, start))


def _has_directive(mark: Mark) -> Finding:
    message = "the file has a YAML directive; expected YAML 1.2 without directives"
    return TAG.at((), message, fix="remove the directive", mark=mark)


def _second_document(mark: Mark) -> Finding:
    message = "a second document begins here; expected one document"
    return DOCUMENTS.at((), message, fix="move the second document to another file", mark=mark)


def _place(mark: Mark | None) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)


class _Composer(Composer):
    """Builds the nodes of plain YAML 1.2, and collects findings about everything else."""

    def __init__(self, text: str, file: str, is_fast: bool) -> None:
        self.findings: list[Finding] = []
        self._file = file
        super().__init__(events(text, is_fast), NODE_LIMIT, DEPTH_LIMIT)

    def document(self) -> Node | None:
        """Returns the root node of the document; None if the document is empty or is not a map."""
        next(self._events)
        if type(next(self._events)).__name__ == "StreamEndEvent":
            self._add(EMPTY, Mark(self._file, 1, 1), "the file is empty")
            return None
        root = self._node(next(self._events), 0)
        next(self._events)
        event = next(self._events)
        if type(event).__name__ != "StreamEndEvent":
            self.findings.append(_second_document(self._mark(event)))
        if isinstance(root.value, dict):
            return root
        if root.value is None:
            self._add(EMPTY, root.mark, "the file is empty")
        else:
            kind = "a list" if isinstance(root.value, list) else "a scalar"
            self._add(NOT_A_MAP, root.mark, f"the file is {kind}, not a map")
        return None

    def _node(self, event: Any, depth: int) -> Node:
        if getattr(event, "tag", None) is not None:
            message = f"the tag {event.tag} is not allowed; a spec is plain data"
            self._add(TAG, self._mark(event), message, f'remove the tag {event.tag}; put strings in "quotes"')
        return super()._node(event, depth)

    def _add_entry(self, node: Node, key: str, event: Any, child: Node) -> None:
        mark = self._mark(event)
        if child.value is None and not child.raw:
            child.mark = mark
        if key in node.value:
            first = [Related("first defined here", mark=node.keys[key])]
            self.findings.append(DUPLICATE.at((), f"the map already has the key {key}", mark=mark, related=first))
            return
        if _key_without_colon(key) and _is_plain(event):  # `nodes {max: 8}`: the value ends with the bracket
            self.findings = [
                found for found in self.findings if found.id != UNPAIRED.id or _place(found.mark) <= _place(mark)
            ]
        node.keys[key] = mark
        node.value[key] = child

    def _key(self, event: Any, depth: int) -> str:
        """Returns the key. If the key is not a scalar, returns its position, which is different for every key."""
        mark = self._mark(event)
        if type(event).__name__ != "ScalarEvent":
            self._node(event, depth)
            self._add(KEY, mark, "the key is a collection or an alias; expected a string")
            return f"{mark.line}:{mark.column}"
        text: str = event.value
        key = text
        if event.anchor or event.tag is not None:
            key = text or event.tag or f"&{event.anchor}"  # `&a: b` has no other name
            message = f"the key {key} has an anchor or a tag; expected a string"
            self._add(TAG, mark, message, f"remove the anchor or tag of key {key}")
        if key != text or not _is_plain(event):
            return key
        self._check_typography(event, mark)
        if match := _key_without_colon(text):
            self._add(UNPAIRED, mark, f"the colon after {match[1]} is missing", f"add a colon after {match[1]}")
        if text == "<<":  # the position of a merged value would be lost; `extends` keeps it
            message = "gpuc does not support the merge key << of YAML; expected a layer with the shared content"
            fix = "move the shared content into a layer, list the layer under extends, and remove <<"
            self._add(MERGE_KEY, mark, message, fix)
        value, ambiguity = scalar.resolve(text)
        quoted = f'put the key in quotes: "{text}"'
        if ambiguity:
            self._add(ambiguity, mark, f"the key {text} is not a string for every YAML parser", quoted)
        elif not isinstance(value, str):
            self._add(KEY, mark, f"the key {text or '(empty)'} is not a string; expected a string", quoted)
        return text

    def _scalar(self, event: Any) -> Node:
        text: str = event.value
        mark = self._mark(event)
        if not _is_plain(event):
            return Node(mark, text)
        self._check_typography(event, mark)
        value, ambiguity = scalar.resolve(text)
        if ambiguity:
            message = f"YAML parsers read {text} without quotes as different values"
            self._add(ambiguity, mark, message, scalar.fix_of(ambiguity, text))
        return Node(mark, value, raw="" if isinstance(value, str | bool) else text)

    def _check_typography(self, event: Any, mark: Mark) -> None:
        """Reports quotation marks and spaces in a text without quotes that are probably not meant as letters."""
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

    def _lost_alias(self, event: Any, is_inside: bool) -> Node:
        problem = "is inside its own anchor" if is_inside else "has no earlier anchor"
        fix = "" if event.anchor.isidentifier() else f'put the value in quotes: "*{event.anchor}"'
        mark = self._mark(event)
        self._add(ALIAS, mark, f"the alias *{event.anchor} {problem}", fix)
        return Node(mark, "")

    def _mark(self, event: Any) -> Mark:
        return Mark(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _add(self, rule: Rule, mark: Mark, message: str, fix: str = "") -> None:
        self.findings.append(rule.at((), message, fix=fix, mark=mark))


def _is_plain(event: Any) -> bool:
    return event.style not in ("'", '"', "|", ">") and event.tag is None
