"""The functions of Kubernetes that the shipped policies and the pinned definitions call, and CEL itself lacks.

A quantity is a map to the engine, so that equal ones are equal. Whether Go holds it as an integer is 1 or 1.0 there:
these are equal in CEL, and two types in Python.

Source: k8s.io/apiserver v0.35 pkg/cel/library (regex.go, lists.go, quantity.go)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpuc.cel.quantity import Quantity, quantity

NO_VALUE = "no value: "
"""How the text of a NoValueError begins: the engine hands on nothing but the text of an error."""
_Map = dict[str, Any]


class NoValueError(ValueError):
    """Kubernetes' own function has no value for these arguments either."""

    def __init__(self, why: object) -> None:
        super().__init__(f"{NO_VALUE}{why}")


def declared(cel: Any) -> list[Any]:
    """The declarations for an environment of the engine.

    Args:
        cel: the module cel_expr_python.cel.
    """
    kind = cel.Type
    amount = kind.Map(kind.STRING, kind.DYN)

    def function(name: str, takes: list[Any], gives: Any, run: Callable[..., Any], *, is_member: bool = True) -> Any:
        overload = cel.Overload(f"gpuc_{name}", return_type=gives, parameters=takes, is_member=is_member, impl=run)
        return cel.FunctionDecl(name, [overload])

    return [
        function("find", [kind.STRING, kind.STRING], kind.STRING, _find),
        function("sum", [kind.List(kind.DYN)], kind.DYN, _sum),
        function("quantity", [kind.STRING], amount, _quantity, is_member=False),
        function("isGreaterThan", [amount, amount], kind.BOOL, _is_greater),
        function("asInteger", [amount], kind.INT, _as_integer),
    ]


def _find(text: str, pattern: str) -> str:
    """The first match; empty where there is none."""
    match = _compiled(pattern).search(text)
    return str(match[0]) if match else ""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """The expression as RE2 reads it, the syntax of Go's regular expressions too."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise NoValueError(f"illegal regular expression {pattern}") from error


def _sum(values: list[Any]) -> Any:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise TypeError("sum is evaluated for numbers only")
    return sum(values)


def _quantity(text: str) -> _Map:
    try:
        read = quantity(text)
    except ValueError as error:
        raise NoValueError(error) from error
    return {"quantity": str(read.value), "plain": 1 if read.is_plain else 1.0}


def _read(amount: _Map) -> Quantity:
    return Quantity(Fraction(amount["quantity"]), isinstance(amount["plain"], int))


def _is_greater(one: _Map, other: _Map) -> bool:
    return _read(one).value > _read(other).value


def _as_integer(amount: _Map) -> int:
    try:
        return _read(amount).as_integer()
    except ValueError as error:
        raise NoValueError(error) from error
