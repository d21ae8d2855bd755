"""Functions of Kubernetes' CEL library that the policies of gpuc and the CustomResourceDefinitions call.

The engine has no type for quantities. Therefore a quantity is a map, and equal quantities are equal maps. The value of
the key "plain" is 1 if Go stores the quantity as an integer, and otherwise 1.0: CEL treats 1 and 1.0 as equal, and
Python can distinguish them by their types.

Source: k8s.io/apiserver v0.35 pkg/cel/library (regex.go, lists.go, quantity.go)
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpuc.cel.quantity import Quantity, quantity

NO_VALUE = "no value: "
"""The prefix of the message of every NoValueError. The engine returns only the message of an exception."""
_Map = dict[str, Any]


class NoValueError(ValueError):
    """A CEL function got arguments for which the function fails in Kubernetes too."""

    def __init__(self, reason: object) -> None:
        super().__init__(f"{NO_VALUE}{reason}")


def declared(cel: Any) -> list[Any]:
    """Returns declarations, for the CEL engine, of the functions in this module, with their argument and result types.

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
    """Returns the first match of a regular expression; the empty string without a match."""
    match = _compiled(pattern).search(text)
    return str(match[0]) if match else ""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    """Returns the compiled regular expression. RE2 has the syntax of Go's regular expressions."""
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


def _is_greater(left: _Map, right: _Map) -> bool:
    return _read(left).value > _read(right).value


def _as_integer(amount: _Map) -> int:
    try:
        return _read(amount).as_integer()
    except ValueError as error:
        raise NoValueError(error) from error
