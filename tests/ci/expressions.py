"""The expressions of GitHub workflows, as far as the workflows of this project use them.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

import json
import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"'(?P<text>(?:[^']|'')*)'|(?P<sign>&&|\|\||!(?!=))|(?P<name>[A-Za-z_][\w.-]*)(?P<call>(?=\())?")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_SIGNS = {"&&": " and ", "||": " or ", "!": " not "}
_CONSTANTS = {"true": True, "false": False, "null": None}
_STATUS = ("success", "failure", "always", "cancelled")


class Contexts(dict[str, Any]):
    """The contexts by name. `status` is the status of the job, or of the action that runs: success or failure."""

    status = "success"

    def child(self, **contexts: Any) -> "Contexts":
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
    """The value of an expression without ${{ }}. Python computes it; `!` before a comparison negates the comparison."""

    def translated(match: re.Match[str]) -> str:
        if match["text"] is not None:
            return "text({!r})".format(match["text"].replace("''", "'"))
        if match["sign"]:
            return _SIGNS[match["sign"]]
        return match["name"] if match["call"] is not None else f"value({match['name']!r})"

    functions = {
        "success": lambda: contexts.status == "success",
        "failure": lambda: contexts.status == "failure",
        "always": lambda: True,
        "cancelled": lambda: False,
        "fromJSON": json.loads,
        "format": lambda text, *values: text.format(*map(as_text, values)),
        "text": _Text,
        "value": lambda path: _CONSTANTS[path] if path in _CONSTANTS else _looked_up(path, contexts),
    }
    return eval(_TOKEN.sub(translated, source.strip()), {"__builtins__": {}}, functions)


class _Text(str):
    """A text of an expression, which is equal to a value with the same text in upper or lower case."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self.lower() == as_text(other).lower()

    def __ne__(self, other: object) -> bool:
        return not self == other


def as_text(value: Any) -> str:
    """The value in a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value)


def _looked_up(path: str, contexts: Mapping[str, Any]) -> Any:
    """The value of a context. A key that is missing is null, but the context itself must exist."""
    first, *rest = path.split(".")
    assert first in contexts, f"the emulator has no context {first}"
    value: Any = contexts[first]
    for key in rest:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
