"""Compiles CEL expressions to programs, and evaluates programs.

Known difference: int(" 4") is 4 here and an error in Kubernetes.

Source: https://kubernetes.io/docs/reference/using-api/cel/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from gpuc.cel.functions import NO_VALUE, declared


@dataclass(frozen=True, slots=True)
class Value:
    """The result of a CEL expression: a map, list, string, number, boolean or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The evaluation failed, and fails in Kubernetes too: the API server refuses the object."""

    why: str


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """gpuc could not evaluate the expression, so the result of Kubernetes is unknown."""

    why: str
    names: tuple[str, ...] = ()
    """Variables and functions of the expression that are not declared."""


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that can be evaluated."""

    _compiled: Any

    def evaluate(self, values: Mapping[str, Any]) -> Value | Failed | NotEvaluated:
        """Evaluates the program.

        Args:
            values: the values of all variables: None, bool, int, float, str, bytes, lists, and maps with text keys.
        """
        try:
            result = self._compiled.eval(data=dict(values))
            kind = result.type().name()
            if kind != "ERROR":
                return Value(_plain(result))
            error = result.plain_value()
        except (RuntimeError, ValueError, TypeError, OverflowError) as raised:
            error = raised
        why = _first_line(error)
        return Failed(_STATUS.sub("", why)) if _ERRORS.search(why) else NotEvaluated(_STATUS.sub("", why))


_ERRORS = re.compile(
    f"{NO_VALUE}|"
    r"NOT_FOUND|Index error|SELECT to non-message|Invalid container type|cannot convert|conversion failed"
    r"|divide by zero|modulus by zero|integer overflow|out of u?int64 range|optional\.none\(\) dereference"
    r"|index out of range: |is (greater|less) than [<0]"
    # The excluded functions have more overloads in Kubernetes than in the engine.
    r"|No matching overloads found : (?!\(list\)\.(indexOf|lastIndexOf|reverse)\b|.*\bisGreaterThan\b)"
)
"""Errors that the engine of Kubernetes reports for the same values. Other errors only show a limit of gpuc."""
_STATUS = re.compile(rf"^([A-Z_]+: )?(ERROR: <input>:\d+:\d+: |{NO_VALUE})?")
_UNKNOWN = re.compile(r"undeclared reference to '(\w+)")
_HAS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\bhas\(([^()]+)\.(\w+)\)""")


@lru_cache(maxsize=8192)
def compiled(expression: str, variables: tuple[str, ...]) -> Program | NotEvaluated:
    """Returns the program of an expression, whose variables may have any type; or the reason why gpuc cannot evaluate it."""
    try:
        return Program(_environment(variables).compile(_HAS.sub(_guarded, expression)))
    except (RuntimeError, ValueError, TypeError) as error:
        unknown = tuple(dict.fromkeys(_UNKNOWN.findall(str(error))))
        return NotEvaluated(_unknown_function(expression, unknown) or _STATUS.sub("", _first_line(error)), unknown)


@cache
def _environment(variables: tuple[str, ...]) -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext.ext_bindings import ExtBindings
    from cel_expr_python.ext.ext_optional import ExtOptional
    from cel_expr_python.ext.ext_strings import ExtStrings

    return cel.NewEnv(
        variables=dict.fromkeys(variables, cel.Type.DYN),
        extensions=[ExtStrings(), ExtOptional(), ExtBindings()],
        functions=declared(cel),
    )


def _guarded(match: re.Match[str]) -> str:
    """has() for values of any type. In Kubernetes has() is false for a null, a text or a number; the engine fails.

    Source: github.com/google/cel-go v0.26 interpreter/attributes.go (refQualify)
    """
    text, owner, field = match.groups()
    return text or f"(type({owner}) in [map, list] ? has({owner}.{field}) : false)"


def _unknown_function(expression: str, unknown: tuple[str, ...]) -> str:
    """Returns the sentence about the unknown function that an expression calls, or an empty text."""
    for name in unknown:
        called = re.search(rf"((?:\w+\.)*)\b{re.escape(name)}\s*\(", expression)
        if called:
            owner = called[1] if called[1].partition(".")[0] in unknown else ""
            return f"gpuc does not evaluate this call of the function {owner}{name}"
    return ""


def _plain(value: Any) -> Any:
    """Returns the value as plain data. The engine's plain_value() has a reference counting bug for None that crashes Python."""
    name = value.type().name()
    if name.startswith("LIST"):
        return [_plain(item) for item in value.value()]
    if name.startswith("MAP"):
        return {key: _plain(item) for key, item in value.value().items()}
    return None if name == "NULL" else value.plain_value()


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [""])[0].removesuffix(" (in container '')")
