"""Compiles CEL expressions, and evaluates them.

Known difference: gpuc evaluates int(" 4") to 4; Kubernetes reports an error.

Source: https://kubernetes.io/docs/reference/using-api/cel/
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from gpuc.cel.functions import NO_VALUE, declared


class Value(Struct, frozen=True):
    """The result of a CEL expression: a map, list, string, number, boolean or None."""

    value: Any


_TRUE, _FALSE = Value(True), Value(False)


class Failed(Struct, frozen=True):
    """The result of an expression that fails both in gpuc and in Kubernetes. The API server refuses the object."""

    why: str


class NotEvaluated(Struct, frozen=True):
    """The result of an expression that gpuc cannot evaluate, so that its result in Kubernetes is unknown."""

    why: str
    names: tuple[str, ...] = ()
    """The undeclared variables and functions of the expression."""


class Converted(Struct, frozen=True):
    """The values of variables, converted into the form of the CEL engine.

    A caller converts the values once, and evaluates several programs with the result. All these programs must have been
    compiled with the same variables.
    """

    activation: Any


class Program(Struct, frozen=True):
    """A compiled CEL expression, which can be evaluated several times."""

    _compiled: Any

    def evaluate(self, values: Mapping[str, Any] | Converted) -> Value | Failed | NotEvaluated:
        """Evaluates the expression.

        Args:
            values: the values of all variables: None, bool, int, float, str, bytes, lists, and maps with string keys.
        """
        try:
            if isinstance(values, Converted):
                result = self._compiled.eval(values.activation)
            else:
                result = self._compiled.eval(data=dict(values))
            kind = result.type().name()
            if kind == "BOOL":
                return _TRUE if result.value() else _FALSE
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
"""Errors that Kubernetes reports for the same values too. All other errors are limits of gpuc."""
_STATUS = re.compile(rf"^([A-Z_]+: )?(ERROR: <input>:\d+:\d+: |{NO_VALUE})?")
_UNKNOWN = re.compile(r"undeclared reference to '(\w+)")
_HAS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\bhas\(([^()]+)\.(\w+)\)""")


@lru_cache(maxsize=8192)
def compiled(expression: str, variables: tuple[str, ...]) -> Program | NotEvaluated:
    """Compiles an expression. Returns the reason instead if gpuc cannot evaluate the expression.

    Args:
        variables: the names of the variables, which may have values of any type.
    """
    try:
        return Program(_environment(variables).compile(_HAS.sub(_guarded, expression)))
    except (RuntimeError, ValueError, TypeError) as error:
        unknown = tuple(dict.fromkeys(_UNKNOWN.findall(str(error))))
        return NotEvaluated(_unknown_function(expression, unknown) or _STATUS.sub("", _first_line(error)), unknown)


def converted(values: Mapping[str, Any], variables: tuple[str, ...]) -> Converted:
    """Converts the values of variables into the form of the CEL engine, for several evaluations.

    The result is only for programs that `compiled` returned for the same tuple of variables.
    """
    return Converted(_environment(variables).Activation(dict(values)))


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
    """Returns the expression that replaces a call has(OWNER.FIELD). It is false if OWNER is neither a map nor a list.

    In Kubernetes, has() is false if OWNER is a null, a string or a number. In the engine, has() fails for these types.

    Source: github.com/google/cel-go v0.26 interpreter/attributes.go (refQualify)
    """
    text, owner, field = match.groups()
    return text or f"(type({owner}) in [map, list] ? has({owner}.{field}) : false)"


def _unknown_function(expression: str, unknown: tuple[str, ...]) -> str:
    """Returns a sentence about the unknown function that an expression calls; the empty string without such a call."""
    for name in unknown:
        called = re.search(rf"((?:\w+\.)*)\b{re.escape(name)}\s*\(", expression)
        if called:
            owner = called[1] if called[1].partition(".")[0] in unknown else ""
            return f"gpuc does not evaluate this call of the function {owner}{name}"
    return ""


def _plain(value: Any) -> Any:
    """Returns a value of the engine as plain Python data.

    The engine's plain_value() is seven times faster than this function. But plain_value() has a reference counting bug
    for None that crashes Python. The function therefore calls plain_value() only for lists and maps without null.
    """
    name = value.type().name()
    if name.startswith(("LIST", "MAP")) and "null" not in str(value):
        return value.plain_value()
    if name.startswith("LIST"):
        return [_plain(item) for item in value.value()]
    if name.startswith("MAP"):
        return {key: _plain(item) for key, item in value.value().items()}
    return None if name == "NULL" else value.plain_value()


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [""])[0].removesuffix(" (in container '')")
