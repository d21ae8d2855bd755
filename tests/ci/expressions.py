"""The expressions of GitHub workflows, as far as the workflows of this project use them.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(-?\d+)|(&&|\|\||==|!=|[!(),])|([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*))")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}
_STATUS = ("success", "failure", "always", "cancelled")


class Contexts(dict[str, Any]):
    """The contexts by name. `status` is the status of the job, or of the action that runs: success or failure."""

    status = "success"

    def child(self, **contexts: Any) -> Contexts:
        """Contexts that replace some of these."""
        found = Contexts({**self, **contexts})
        found.status = self.status
        return found


def interpolate(text: Any, contexts: Contexts) -> Any:
    """The value of a text with expressions. A text that is one expression has the value of the expression."""
    if not isinstance(text, str):
        return text
    if (whole := _EXPRESSION.fullmatch(text.strip())) and whole[1].count("${{") == 0:
        return evaluate(whole[1], contexts)
    return _EXPRESSION.sub(lambda match: as_text(evaluate(match[1], contexts)), text)


def condition(text: Any, contexts: Contexts) -> bool:
    """Whether a job or a step runs. Without a function of the status, the status must be success."""
    source = str(text if text is not None else "success()")
    source = source.strip().removeprefix("${{").removesuffix("}}")
    has_status = any(re.search(rf"\b{name}\(", source) for name in _STATUS)
    return (has_status or contexts.status == "success") and bool(evaluate(source, contexts))


def evaluate(source: str, contexts: Contexts) -> Any:
    """The value of an expression without ${{ }}."""
    parser = _Parser(source, contexts)
    value = parser.either()
    assert parser.peek() is None, source
    return value


def as_text(value: Any) -> str:
    """The value in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)


class _Parser:
    def __init__(self, source: str, contexts: Contexts) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.contexts = contexts
        position = 0
        source = source.rstrip()
        while position < len(source):
            match = _TOKEN.match(source, position)
            assert match is not None, (source, position)
            kind = ("text", "number", "sign", "name")[(match.lastindex or 1) - 1]
            self.tokens.append((kind, match[match.lastindex or 1]))
            position = match.end()

    def peek(self) -> str | None:
        return self.tokens[0][1] if self.tokens else None

    def take(self, *signs: str) -> str | None:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value or other
        return value

    def both(self) -> Any:
        value = self.compared()
        while self.take("&&"):
            other = self.compared()
            value = other if value else value
        return value

    def compared(self) -> Any:
        value = self.negated()
        if sign := self.take("==", "!="):
            same = as_text(value).lower() == as_text(self.negated()).lower()
            return same == (sign == "==")
        return value

    def negated(self) -> Any:
        if self.take("!"):
            return not self.negated()
        return self.atom()

    def atom(self) -> Any:
        if self.take("("):
            value = self.either()
            assert self.take(")")
            return value
        kind, token = self.tokens.pop(0)
        if kind == "text":
            return token[1:-1].replace("''", "'")
        if kind == "number":
            return int(token)
        assert kind == "name", token
        if self.take("("):
            return self.called(token)
        return _CONSTANTS[token] if token in _CONSTANTS else _looked_up(token, self.contexts)

    def called(self, name: str) -> Any:
        arguments = []
        while not self.take(")"):
            arguments.append(self.either())
            self.take(",")
        status = self.contexts.status
        functions = {
            "success": lambda: status == "success",
            "failure": lambda: status == "failure",
            "always": lambda: True,
            "cancelled": lambda: False,
            "fromJSON": json.loads,
            "format": lambda text, *values: text.format(*map(as_text, values)),
        }
        return functions[name](*arguments)


def _looked_up(path: str, contexts: Mapping[str, Any]) -> Any:
    """The value of a context. A key that is missing is null, but the context itself must exist."""
    first, *rest = path.split(".")
    assert first in contexts, f"the emulator has no context {first}"
    value: Any = contexts[first]
    for key in rest:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
