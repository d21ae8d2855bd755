"""Label selectors: whether they match given labels, and whether any labels at all match some and miss others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuc.objects.object_set import items, pairs


class Refused(Exception):
    """The API server takes no object that says this, so the object has no effect."""


class Domain(NamedTuple):
    """What one label may be."""

    absent: bool
    """Whether the label may be missing."""
    values: frozenset[str]
    is_complement: bool
    """Whether the values are those that it may not have, of all that there are."""

    @property
    def is_empty(self) -> bool:
        return not (self.absent or self.values or self.is_complement)

    def holds(self, value: str | None) -> bool:
        """Whether a value, or None for no label, is allowed."""
        return self.absent if value is None else (value in self.values) != self.is_complement


ANY = Domain(True, frozenset(), True)
Selector = tuple[tuple[str, Domain], ...]
"""Requirements by label key, all of which have to hold; the empty one matches everything."""

_OPERATORS = {"In": (False, False), "NotIn": (True, True), "Exists": (False, True), "DoesNotExist": (True, False)}
"""Operator: whether the label may be absent, and whether its values are excluded ones.

Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go, Requirement.Matches
"""
_STEPS_MAX = 20_000
"""Choices that are tried before labels are taken to exist; selectors that people write need a few dozen."""


def read_selector(raw: Any) -> Selector:
    """A metav1.LabelSelector.

    Raises:
        Refused: for one that is malformed.
    """
    if not isinstance(raw, dict):
        raise Refused
    requirements = [(key, Domain(False, frozenset((_text(value),)), False)) for key, value in _map(raw, "matchLabels")]
    for _, expression in _list(raw, "matchExpressions"):
        requirements.append(_expression(expression))
    return tuple(requirements)


def _expression(raw: Any) -> tuple[str, Domain]:
    key, operator = (raw.get("key"), raw.get("operator")) if isinstance(raw, dict) else (None, None)
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise Refused
    absent, is_complement = _OPERATORS[operator]
    values = frozenset(_text(value) for _, value in _list(raw, "values"))
    if bool(values) != (operator in ("In", "NotIn")):
        raise Refused
    return _text(key), Domain(absent, values, is_complement)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused
    return value


def _map(raw: dict[str, Any], key: str) -> Iterable[tuple[str, Any]]:
    if not isinstance(raw.get(key), dict | None):
        raise Refused
    return pairs(raw.get(key))


def _list(raw: dict[str, Any], key: str) -> Iterable[tuple[int, Any]]:
    if not isinstance(raw.get(key), list | None):
        raise Refused
    return items(raw.get(key))


def matches(selector: Selector, labels: Mapping[str, Any]) -> bool:
    """Whether an object with these labels is selected."""
    return all(domain.holds(labels.get(key)) for key, domain in selector)


def satisfiable(wanted: Iterable[tuple[str, Domain]], unwanted: Iterable[Selector]) -> bool:
    """Whether somebody who may choose all labels can meet every wanted requirement and no unwanted selector."""
    known: dict[str, Domain] = {}
    for key, domain in wanted:
        known[key] = met = _meet(known.get(key, ANY), domain)
        if met.is_empty:
            return False
    open_worlds = [(known, sorted(set(unwanted), key=len))]
    for _ in range(_STEPS_MAX):
        if not open_worlds:
            return False
        known, left = open_worlds.pop()
        while left and _is_missed(left[0], known):
            left = left[1:]
        if not left:
            return True
        open_worlds += [(choice, left[1:]) for choice in _ways_to_miss(left[0], known)]
    return True


def _is_missed(selector: Selector, known: Mapping[str, Domain]) -> bool:
    """Whether the selector misses everything that the labels may still be."""
    return any(_meet(known.get(key, ANY), domain).is_empty for key, domain in selector)


def _ways_to_miss(selector: Selector, known: dict[str, Domain]) -> list[dict[str, Domain]]:
    """What the labels may still be once one of the requirements fails, for each of them."""
    failed = ((key, _meet(known.get(key, ANY), _complement(domain))) for key, domain in selector)
    return [{**known, key: domain} for key, domain in failed if not domain.is_empty]


def _complement(domain: Domain) -> Domain:
    return Domain(not domain.absent, domain.values, not domain.is_complement)


def _meet(one: Domain, other: Domain) -> Domain:
    absent = one.absent and other.absent
    if one.is_complement and other.is_complement:
        return Domain(absent, one.values | other.values, True)
    if one.is_complement:
        return Domain(absent, other.values - one.values, False)
    if other.is_complement:
        return Domain(absent, one.values - other.values, False)
    return Domain(absent, one.values & other.values, False)
