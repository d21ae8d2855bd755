"""The keys of Helm values that the templates of a chart read, although values.yaml does not have them.

The templates are evaluated without values: instead of a value, an expression has the paths that it may come from. The
result has names of keys only.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_yaml

FILE = Path(__file__).with_name("template_keys.json")
"""By component: the version of the chart, `read` (keys that values.yaml lacks) and `whole` (maps of values.yaml that
the templates write with any keys)."""
Steps = tuple[str, ...]
_action = re.compile(r"\{\{-?\s*(?:/\*.*?\*/|((?:\"(?:\\.|[^\"\\])*\"|`[^`]*`|[^\"`}]|\}(?!\}))*))\s*\}\}", re.DOTALL)
_token = re.compile(r"\"(?:\\.|[^\"\\])*\"|`[^`]*`|\)(?:\.\w+)*|[(|,]|:?=|\$\w*(?:\.\w+)*|(?:\.\w+)+|\.|[^\s()|,]+")
_TESTS = {
    "not", "eq", "ne", "lt", "le", "gt", "ge", "empty", "kindIs", "typeIs", "kindOf", "typeOf", "len", "fail",
    "contains", "hasPrefix",
}  # fmt: skip
"""Functions that look at a value and do not write its keys anywhere."""
_SAME = {
    "default", "coalesce", "or", "and", "ternary", "required", "deepCopy", "merge", "mustMerge", "mergeOverwrite",
    "omit", "set",
}  # fmt: skip
"""Functions whose result has the keys of their arguments."""


class _Reads:
    """The templates of one chart, and the paths that they read."""

    def __init__(self) -> None:
        self.read: set[Steps] = set()
        self.whole: set[Steps] = set()
        self.defines: dict[str, list[Any]] = {}
        self._done: set[tuple[str, str]] = set()

    def run(self, nodes: list[Any], dot: Any, variables: dict[str, Any]) -> None:
        for word, code, body, other in nodes:
            if word in ("if", "with", "range"):
                value = self.pipeline(code, dot, variables)
                inner = value if word == "with" else dot
                if word == "range":
                    self.mark_whole(value)
                    inner = None
                self.run(body, inner, variables)
                self.run(other, dot, variables)
            elif word == "template":
                self.call("include", [self.operand(token, dot, variables) for token in code], dot)
            elif word == "action":
                self.pipeline(code, dot, variables)

    def pipeline(self, tokens: list[str], dot: Any, variables: dict[str, Any]) -> Any:
        if ":=" in tokens or "=" in tokens:
            at = next(index for index, token in enumerate(tokens) if token in (":=", "="))
            value = self.pipeline(tokens[at + 1 :], dot, variables)
            for name in tokens[:at]:
                if name != ",":
                    variables[name] = _joined([value, variables.get(name)])
            return value
        value, parts = None, _split(tokens)
        for number, part in enumerate(parts):
            arguments = [self.operand(token, dot, variables) for token in part]
            function = part[0] if isinstance(part[0], str) and re.fullmatch(r"[a-zA-Z]\w*", part[0]) else ""
            rest = [value] if number else []
            value = self.call(function, [*arguments[1:], *rest], dot) if function else _joined([*arguments, *rest])
        return value

    def operand(self, token: Any, dot: Any, variables: dict[str, Any]) -> Any:
        """Returns a text in quotes, the paths of a value, a map that `dict` makes, or None for all else."""
        if isinstance(token, tuple):
            inner, fields = token
            return self.fields(self.pipeline(inner, dot, variables), fields)
        if token[0] in '"`':
            return token[1:-1]
        name, _, fields = token.partition(".")
        if token[0] == "$":
            return self.fields(variables.get(name), fields)
        return self.fields(dot, fields) if token[0] == "." else None

    def fields(self, value: Any, names: str) -> Any:
        for name in filter(None, names.split(".")):
            value = self.field(value, name)
        return value

    def field(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return value.get(name)
        if isinstance(value, frozenset):
            found = frozenset((*path, name) for path in value)
            self.read |= found
            return found
        return None

    def call(self, function: str, arguments: list[Any], dot: Any) -> Any:
        if function in ("include", "template"):
            name, value = arguments[0], arguments[1] if len(arguments) > 1 else dot
            if name in self.defines and (name, repr(value)) not in self._done:
                self._done.add((name, repr(value)))
                self.run(self.defines[name], value, {"$": value})
            return None
        if function == "dict":
            pairs = zip(arguments[::2], arguments[1::2], strict=False)
            return {name: value for name, value in pairs if isinstance(name, str)}
        if function in ("hasKey", "get", "index", "pick"):
            found = [self.fields(arguments[0], name) for name in arguments[1:] if isinstance(name, str)]
            return None if function in ("hasKey", "pick") else _joined(found)
        if function == "dig":
            *names, _, value = arguments
            return self.fields(value, ".".join(name for name in names if isinstance(name, str)))
        if function in _SAME:
            return _joined(arguments)
        if function not in _TESTS:
            for argument in arguments:
                self.mark_whole(argument)
        return None

    def mark_whole(self, value: Any) -> None:
        if isinstance(value, frozenset):
            self.whole |= value


def template_keys(folder: Path) -> dict[str, list[str]]:
    """Returns the keys that only templates read, and the maps of values.yaml that templates write with any keys.

    Args:
        folder: the unpacked chart, with its subcharts in charts/.
    """
    read, whole = set(), set()
    for chart in [*sorted(folder.glob("charts/*/")), folder]:
        prefix = () if chart == folder else (chart.name,)
        reads = _reads(chart)
        read |= {(*prefix, *path) for path in reads.read if path and path[0] != "global"}
        whole |= {(*prefix, *path) for path in reads.whole if path and path[0] != "global"}
    values = values_of(folder)
    named = {path for path in read if isinstance(_value(values, path[:-1]) or {}, dict) and not _has(values, path)}
    maps = {path for path in whole if path in named or isinstance(_value(values, path), dict)}
    inner = {path for path in named if any(path[:end] in maps for end in range(1, len(path)))}
    parents = {path[:end] for path in named - inner for end in range(1, len(path))}
    maps = {path for path in maps - inner if path not in named}
    return {"read": sorted(map(".".join, named - inner - parents)), "whole": sorted(map(".".join, maps))}


def update(component: str, version: str, folder: Path) -> None:
    """Writes the row of a chart into FILE, if the templates of the chart are at hand."""
    if (folder / "templates").is_dir():
        rows = {**table(), component: {"version": version, **template_keys(folder)}}
        FILE.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def table() -> dict[str, Any]:
    """Returns the rows of FILE, by component."""
    rows: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return rows


def values_of(folder: Path) -> Any:
    """Returns the default values of a chart, with those of its subcharts."""
    values = load_yaml((folder / "values.yaml").read_text("utf-8")) or {}
    for subchart in sorted(folder.glob("charts/*/values.yaml")):
        name = subchart.parent.name
        values[name] = _merged(load_yaml(subchart.read_text("utf-8")), values.get(name, {}))
    return values


def _merged(lower: Any, upper: Any) -> Any:
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    return {**lower, **{key: _merged(lower.get(key), value) for key, value in upper.items()}}


def _value(values: Any, path: Steps) -> Any:
    for step in path:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _has(values: Any, path: Steps) -> bool:
    return path[-1] in (_value(values, path[:-1]) or ())


def _reads(chart: Path) -> _Reads:
    reads = _Reads()
    files = [file for file in sorted((chart / "templates").rglob("*")) if file.suffix in (".yaml", ".tpl", ".txt")]
    trees = {file: _tree(_actions(file.read_text("utf-8")), reads.defines) for file in files}
    root = {"Values": frozenset({()})}
    for file, tree in trees.items():
        if not file.name.startswith("_"):
            reads.run(tree, root, {"$": root})
    for name in reads.defines:  # a helper without a caller reads its keys too, and the next version may call it
        reads.call("include", [name, root], None)
    return reads


def _actions(text: str) -> Iterator[list[str]]:
    for match in _action.finditer(text):
        if tokens := _token.findall((match[1] or "").rstrip("- \n")):
            yield tokens


def _tree(actions: Iterator[list[str]], defines: dict[str, list[Any]]) -> list[Any]:
    """Returns the nodes up to `end`: rows of word, tokens, body and the body of `else`. Fills the named templates."""
    return _block(actions, defines)[0]


def _block(actions: Iterator[list[str]], defines: dict[str, list[Any]]) -> tuple[list[Any], list[Any]]:
    nodes: list[Any] = []
    for word, *code in actions:
        if word == "end":
            break
        if word == "else":
            body, other = _block(actions, defines)
            return nodes, [(code[0], _grouped(code[1:]), body, other)] if code else body
        if word == "define":
            defines[code[0].strip('"')] = _tree(actions, defines)
        elif word in ("if", "with", "range"):
            nodes.append((word, _grouped(code), *_block(actions, defines)))
        else:
            nodes.append(
                ("template", _grouped(code), [], [])
                if word == "template"
                else ("action", _grouped([word, *code]), [], [])
            )
    return nodes, []


def _grouped(tokens: list[str]) -> list[Any]:
    """Returns tokens with the content of brackets as one token: its tokens, and the fields after the bracket."""
    stack: list[list[Any]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token[0] == ")":
            inner = stack.pop()
            stack[-1].append((inner, token[1:]))
        else:
            stack[-1].append(token)
    return stack[0]


def _split(tokens: list[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token == "|":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _joined(values: list[Any]) -> Any:
    """Returns the paths of all values; the first other value if there are no paths."""
    paths = [value for value in values if isinstance(value, frozenset)]
    return frozenset().union(*paths) if paths else next((value for value in values if value is not None), None)
