"""YAML text to plain data as Kubernetes reads it, and to the place of any value in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from compiler.finding import Finding, Mark, Path, Severity, fault

UNREADABLE = fault(
    "LNT001", Severity.ERROR, "A file is not YAML.", "kubectl and Argo CD refuse it: nothing of it reaches the cluster."
)
DUPLICATE_KEY = fault(
    "LNT002",
    Severity.ERROR,
    "A key stands twice in one map.",
    "The last one wins without a word, and strict readers refuse the file.",
    "k8s.io/apimachinery, pkg/util/yaml",
)
TOO_LARGE = fault(
    "LNT003",
    Severity.ERROR,
    "A document grows beyond its bounds once its aliases are expanded.",
    "A few nested aliases of a small file become billions of values; the API server refuses them too.",
)
VALUES_MAX = 1_000_000
DEPTH_MAX = 100
_MERGE = "tag:yaml.org,2002:merge"


@dataclass
class Text:
    """The documents of one file; a document that could not be read is a finding and no document."""

    documents: list[tuple[int, Any]] = field(default_factory=list)
    """Index among the file's documents, and plain data: dict, list, str, int, float, bool or None."""
    findings: list[Finding] = field(default_factory=list)


def read(text: str, file: str) -> Text:
    """All documents of a text; behind a syntax error nothing more is read."""
    from yaml import YAMLError

    result = Text()
    try:
        for index, root in enumerate(_roots(text)):
            builder = _Builder(file, result.findings)
            if root is not None and (value := builder.build(root)) is not _REFUSED:
                result.documents.append((index, value))
    except (YAMLError, ValueError, RecursionError) as error:
        result.findings.append(_unreadable(error, file))
    return result


def marks(text: str, file: str, index: int) -> dict[tuple[Path, bool], Mark]:
    """Places of all values of a document by path, and of all keys: (path, True) is where the key at a path stands."""
    root = next((node for number, node in enumerate(_roots(text)) if number == index), None)
    found: dict[tuple[Path, bool], Mark] = {}
    waiting: list[tuple[Path, Any]] = [((), root)] if root is not None else []
    while waiting:
        path, node = waiting.pop()
        found[path, False] = _mark(node, file)
        if len(path) > DEPTH_MAX or len(found) > VALUES_MAX:
            continue
        if isinstance(node.value, list):
            for number, each in enumerate(node.value):
                if isinstance(each, tuple):
                    key, value = each
                    found.setdefault(((*path, str(key.value)), True), _mark(key, file))
                    waiting.append(((*path, str(key.value)), value))
                else:
                    waiting.append(((*path, number), each))
    return found


_REFUSED = object()


class _Builder:
    """One document: plain data from nodes, with the bounds that aliases make necessary."""

    def __init__(self, file: str, findings: list[Finding]) -> None:
        self._file = file
        self._findings = findings
        self._left = VALUES_MAX

    def build(self, node: Any) -> Any:
        """The data of a node; _REFUSED where there is too much of it, which is then a finding."""
        try:
            return self._value(node, 0)
        except OverflowError:
            text = f"more than {VALUES_MAX} values or {DEPTH_MAX} levels, aliases expanded"
            self._findings.append(TOO_LARGE.at((), text, mark=_mark(node, self._file)))
            return _REFUSED

    def _value(self, node: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > DEPTH_MAX:
            raise OverflowError
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
                    DUPLICATE_KEY.at((), f'"{name}" stands twice in this map', mark=_mark(key, self._file))
                )
            found[name] = self._value(value, depth + 1)
        return {**merged, **found} if merged else found


def _roots(text: str) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.compose_all(text, Loader=loader))


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
    plain = text.replace("_", "").lower()
    try:
        if plain.lstrip("+-").startswith("0") and plain.lstrip("+-").isdigit():
            return int(plain, 8)
        return int(plain, 0)
    except ValueError:
        return text


def _float(text: str) -> Any:
    plain = text.replace("_", "").lower()
    try:
        return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text


def _mark(node: Any, file: str) -> Mark:
    return Mark(file, node.start_mark.line + 1, node.start_mark.column + 1)


def _unreadable(error: Exception, file: str) -> Finding:
    place = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    mark = Mark(file, place.line + 1, place.column + 1) if place else Mark(file, 1, 1)
    problem = getattr(error, "problem", None) or "the parser gave up"
    return UNREADABLE.at((), f"this is not YAML: {problem}", mark=mark)
