"""Functions that Kubernetes adds to CEL, written once for all engines that evaluate rules.

Not here: `format`, semantic versions, sorting by a key, macros of two variables; rules with them cannot be judged.

Source: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library and the sections after it;
k8s.io/apiserver v0.35 pkg/cel/environment/base.go has the list of libraries
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any

from gpuc.kubernetes.quantity import parse_quantity
from gpuc.lint.crds import networks as net
from gpuc.lint.crds import texts
from gpuc.lint.crds.answers import NoValueError

NAMED = frozenset(("quantity", "ip", "cidr", "url"))
"""Types that are no types of CEL: a map of one entry, whose key is the type."""
_NANO, _LONGEST = 10**9, 40
_BARE = re.compile(r"[+-]|[+-]?\.?([KMGT]i|[numkMGTPE]|[eE][+-]?\d{1,4})|[+-]?\.", re.ASCII)
"""Units without a number, which the API server takes for 0, whatever the documentation says: "Mi", but not "Pi"."""
_INTEGERS = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Function:
    """One overload."""

    name: str
    takes: tuple[str, ...]
    """Types of its arguments: string, int, list, any, or one of NAMED."""
    gives: str
    """Also bool, double, dyn, strings, query."""
    run: Callable[..., Any]
    is_member: bool = True
    """Whether it is called as x.name(): the first argument is x."""


def functions() -> list[Function]:
    """What is the same for every engine."""
    return [*_of_texts(), *_of_lists(), *_of_quantities(), *_of_networks()]


def string_functions() -> list[Function]:
    """CEL's own string extension, for an engine that lacks it."""
    text, number = "string", "int"
    return [
        Function("charAt", (text, number), text, texts.char_at),
        Function("indexOf", (text, text), number, texts.index_of),
        Function("indexOf", (text, text, number), number, texts.index_of),
        Function("lastIndexOf", (text, text), number, texts.last_index_of),
        Function("lastIndexOf", (text, text, number), number, texts.last_index_of),
        Function("substring", (text, number), text, texts.substring),
        Function("substring", (text, number, number), text, texts.substring),
        Function("split", (text, text), "strings", texts.split),
        Function("split", (text, text, number), "strings", texts.split),
        Function("replace", (text, text, text), text, texts.replace),
        Function("replace", (text, text, text, number), text, texts.replace),
        Function("join", ("list",), text, texts.join),
        Function("join", ("list", text), text, texts.join),
        Function("lowerAscii", (text,), text, texts.lower_ascii),
        Function("upperAscii", (text,), text, texts.upper_ascii),
        Function("trim", (text,), text, texts.trim),
        Function("reverse", (text,), text, texts.reverse),
        Function("string", ("bool",), text, lambda one: "true" if one else "false", is_member=False),
    ]


def by_name(given: list[Function]) -> dict[str, list[Function]]:
    """The overloads of each name."""
    found: dict[str, list[Function]] = {}
    for each in given:
        found.setdefault(each.name, []).append(each)
    return found


def checked(overloads: list[Function]) -> Callable[..., Any]:
    """A function that calls the overload which its arguments fit, and raises TypeError where they fit none."""

    def run(*arguments: Any) -> Any:
        for each in overloads:
            if len(each.takes) == len(arguments) and all(map(_fits, each.takes, arguments)):
                return each.run(*arguments)
        raise TypeError(f"{overloads[0].name} takes no such arguments")

    return run


def _fits(kind: str, value: Any) -> bool:
    if kind in NAMED:
        return isinstance(value, dict) and list(value) == [kind]
    types: dict[str, type] = {"string": str, "int": int, "bool": bool, "list": list}
    return isinstance(value, types[kind]) and (kind == "bool" or not isinstance(value, bool))


def _of_texts() -> list[Function]:
    return [
        Function("find", ("string", "string"), "string", texts.find),
        Function("findAll", ("string", "string"), "strings", texts.find_all),
        Function("findAll", ("string", "string", "int"), "strings", texts.find_all),
    ]


def _of_lists() -> list[Function]:
    two = ("list", "list")
    return [
        Function("isSorted", ("list",), "bool", lambda each: all(one <= other for one, other in pairwise(each))),
        Function("sum", ("list",), "dyn", _sum),
        Function("min", ("list",), "dyn", partial(_extreme, min)),
        Function("max", ("list",), "dyn", partial(_extreme, max)),
        Function("sets.contains", two, "bool", lambda one, other: all(_has(one, each) for each in other), False),
        Function("sets.intersects", two, "bool", lambda one, other: any(_has(one, each) for each in other), False),
        Function("sets.equivalent", two, "bool", _is_equivalent, False),
        Function("distinct", ("list",), "dyn", _distinct),
        Function("slice", ("list", "int", "int"), "dyn", _slice),
    ]


def _of_quantities() -> list[Function]:
    amount, two = ("quantity",), ("quantity", "quantity")
    with_int = ("quantity", "int")
    return [
        Function("isQuantity", ("string",), "bool", _is_quantity, False),
        Function("quantity", ("string",), "quantity", lambda text: _named(_parsed(text)), False),
        Function("sign", amount, "int", lambda one: _compared(_value(one), Fraction()), False),
        Function("isInteger", amount, "bool", lambda one: _is_integer(_value(one))),
        Function("asInteger", amount, "int", _as_integer),
        Function("asApproximateFloat", amount, "double", lambda one: float(_value(one))),
        Function("isGreaterThan", two, "bool", lambda one, other: _value(one) > _value(other)),
        Function("isLessThan", two, "bool", lambda one, other: _value(one) < _value(other)),
        Function("compareTo", two, "int", lambda one, other: _compared(_value(one), _value(other))),
        Function("add", two, "quantity", lambda one, other: _named(_value(one) + _value(other))),
        Function("add", with_int, "quantity", lambda one, number: _named(_value(one) + number)),
        Function("sub", two, "quantity", lambda one, other: _named(_value(one) - _value(other))),
        Function("sub", with_int, "quantity", lambda one, number: _named(_value(one) - number)),
    ]


def _of_networks() -> list[Function]:
    text, address, block, link = ("string",), ("ip",), ("cidr",), ("url",)
    return [
        Function("isIP", text, "bool", net.is_ip, False),
        Function("ip", text, "ip", net.ip, False),
        Function("ip", block, "ip", net.ip_of),
        Function("ip.isCanonical", text, "bool", net.is_canonical, False),
        Function("family", address, "int", net.family),
        Function("isUnspecified", address, "bool", net.is_unspecified),
        Function("isLoopback", address, "bool", net.is_loopback),
        Function("isLinkLocalMulticast", address, "bool", net.is_link_local_multicast),
        Function("isLinkLocalUnicast", address, "bool", net.is_link_local_unicast),
        Function("isGlobalUnicast", address, "bool", net.is_global_unicast),
        Function("isCIDR", text, "bool", net.is_cidr, False),
        Function("cidr", text, "cidr", net.cidr, False),
        Function("containsIP", ("cidr", "string"), "bool", net.contains_ip),
        Function("containsIP", ("cidr", "ip"), "bool", net.contains_ip),
        Function("containsCIDR", ("cidr", "string"), "bool", net.contains_cidr),
        Function("containsCIDR", ("cidr", "cidr"), "bool", net.contains_cidr),
        Function("prefixLength", block, "int", net.prefix_length),
        Function("masked", block, "cidr", net.masked),
        Function("isURL", text, "bool", net.is_url, False),
        Function("url", text, "url", net.url, False),
        Function("getScheme", link, "string", partial(net.part, "scheme")),
        Function("getHost", link, "string", net.host),
        Function("getHostname", link, "string", partial(net.part, "host")),
        Function("getPort", link, "string", partial(net.part, "port")),
        Function("getEscapedPath", link, "string", partial(net.part, "path")),
        Function("getQuery", link, "query", net.query),
    ]


def _sum(values: list[Any]) -> Any:
    return sum(values, timedelta()) if values and isinstance(values[0], timedelta) else sum(values)


def _extreme(choose: Callable[[list[Any]], Any], values: list[Any]) -> Any:
    if not values:
        raise NoValueError(f"{choose.__name__} of an empty list")
    return choose(values)


def _has(values: list[Any], wanted: Any) -> bool:
    """Whether a list has a value: true and 1 are two, 1 and 1.0 are one."""
    return any(each == wanted and isinstance(each, bool) == isinstance(wanted, bool) for each in values)


def _is_equivalent(one: list[Any], other: list[Any]) -> bool:
    return all(_has(one, each) for each in other) and all(_has(other, each) for each in one)


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if not _has(found, each):
            found.append(each)
    return found


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise NoValueError(f"items {start} to {end} of {len(values)}")
    return values[start:end]


def _is_quantity(text: str) -> bool:
    try:
        _parsed(text)
    except NoValueError:
        return False
    return True


def _parsed(text: str) -> Fraction:
    """A quantity's value, which Kubernetes rounds up to whole billionths.

    Raises:
        NoValueError: for what is no quantity.
        ValueError: for one that is too long to be meant.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"a quantity of {len(text)} characters is not read here")
    if _BARE.fullmatch(text):
        return Fraction()
    try:
        exact = parse_quantity(text)
    except ValueError as error:
        raise NoValueError(str(error)) from error
    return Fraction(ceil(abs(exact) * _NANO), _NANO) * _compared(exact, Fraction())


def _named(value: Fraction) -> dict[str, str]:
    return {"quantity": str(value)}


def _value(amount: dict[str, str]) -> Fraction:
    return Fraction(amount["quantity"])


def _is_integer(value: Fraction) -> bool:
    """Whether it is whole. Kubernetes says no to "1000m" too, of which no rule is known that means it."""
    return value.denominator == 1 and int(value) in _INTEGERS


def _as_integer(amount: dict[str, str]) -> int:
    value = _value(amount)
    if not _is_integer(value):
        raise NoValueError(f"{value} is no integer")
    return int(value)


def _compared(one: Fraction, other: Fraction) -> int:
    return (one > other) - (one < other)
