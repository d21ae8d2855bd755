"""Functions that Kubernetes adds to CEL, as far as rules of CustomResourceDefinitions use them.

Source: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library and the sections after it
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

from compiler.quantity import parse_quantity


def functions(cel: Any) -> list[Any]:
    """Declarations for an environment: regular expressions, lists and quantities.

    Args:
        cel: the module cel of cel_expr_python.
    """
    kind = cel.Type
    amount = kind.Map(kind.STRING, kind.STRING)
    numbers = kind.List(kind.DYN)
    rows: list[tuple[str, list[Any], Any, Any, bool]] = [
        ("find", [kind.STRING, kind.STRING], kind.STRING, _find, True),
        ("findAll", [kind.STRING, kind.STRING], kind.List(kind.STRING), _find_all, True),
        ("isSorted", [numbers], kind.BOOL, _is_sorted, True),
        ("sum", [numbers], kind.DYN, sum, True),
        ("min", [numbers], kind.DYN, min, True),
        ("max", [numbers], kind.DYN, max, True),
        ("isQuantity", [kind.STRING], kind.BOOL, _is_quantity, False),
        ("quantity", [kind.STRING], amount, _quantity, False),
        ("isInteger", [amount], kind.BOOL, lambda one: _value(one).denominator == 1, True),
        ("asInteger", [amount], kind.INT, lambda one: int(_value(one)), True),
        ("asApproximateFloat", [amount], kind.DOUBLE, lambda one: float(_value(one)), True),
        ("sign", [amount], kind.INT, lambda one: (_value(one) > 0) - (_value(one) < 0), True),
        ("isGreaterThan", [amount, amount], kind.BOOL, lambda one, other: _value(one) > _value(other), True),
        ("isLessThan", [amount, amount], kind.BOOL, lambda one, other: _value(one) < _value(other), True),
        ("compareTo", [amount, amount], kind.INT, _compared, True),
    ]
    return [
        cel.FunctionDecl(
            name,
            [cel.Overload(f"gpuc_{name}", return_type=gives, parameters=takes, is_member=is_member, impl=run)],
        )
        for name, takes, gives, run, is_member in rows
    ]


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[0] if match else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [match[0] for match in re.finditer(pattern, text)]


def _is_sorted(values: list[Any]) -> bool:
    return all(first <= second for first, second in pairwise(values))


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _quantity(text: str) -> dict[str, str]:
    parse_quantity(text)
    return {"text": text}


def _value(quantity: dict[str, str]) -> Fraction:
    return parse_quantity(quantity["text"])


def _compared(one: dict[str, str], other: dict[str, str]) -> int:
    return (_value(one) > _value(other)) - (_value(one) < _value(other))
