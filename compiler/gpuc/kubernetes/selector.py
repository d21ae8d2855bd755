"""Selectors: which labels they match, and whether any labels at all match some of them and miss others.

Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go (NewRequirement, Requirement.Matches);
sigs.k8s.io/karpenter v1.14.1 pkg/scheduling/requirement.go (bounds, Intersection)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from gpuc.kubernetes.dns_name import is_label_key, is_label_value
from gpuc.kubernetes.refused import Refused

LABEL_OPERATORS: Final = frozenset(("In", "NotIn", "Exists", "DoesNotExist"))
"""Operators of a LabelSelector."""
NODE_OPERATORS: Final = LABEL_OPERATORS | {"Gt", "Lt"}
"""Operators of a node selector."""
POOL_OPERATORS: Final = NODE_OPERATORS | {"Gte", "Lte"}
"""Operators of the requirements of a NodePool and a NodeOverlay."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_STEPS_MAX = 20_000
"""Choices that are tried before labels are taken to exist; selectors that people write need a few dozen."""


class Domain(NamedTuple):
    """The values that one label may have."""

    absent: bool
    """Whether the label may be missing."""
    values: frozenset[str]
    is_complement: bool
    """Whether the values are those that the label may not have, of all that there are."""
    low: int | None = None
    """The least number that the value may be; None without a bound. With a bound, other texts are excluded."""
    high: int | None = None

    @property
    def has_values(self) -> bool:
        """Whether some value is allowed."""
        return bool(self.values) or self.is_complement

    @property
    def is_empty(self) -> bool:
        """Whether neither a value nor a missing label is allowed."""
        return not (self.absent or self.has_values)

    @property
    def listed(self) -> frozenset[str] | None:
        """The allowed values; None where they are not listed."""
        return None if self.is_complement else self.values

    def holds(self, value: str | None) -> bool:
        """Whether a value is allowed; None is a missing label."""
        if value is None:
            return self.absent
        return (value in self.values) != self.is_complement and _is_within(value, self.low, self.high)

    def meet(self, other: Domain) -> Domain:
        """What both allow."""
        absent = self.absent and other.absent
        low = max((bound for bound in (self.low, other.low) if bound is not None), default=None)
        high = min((bound for bound in (self.high, other.high) if bound is not None), default=None)
        if low is not None and high is not None and low > high:
            return Domain(absent, frozenset(), False)
        if self.is_complement and other.is_complement:
            excluded = self.values | other.values
            return Domain(
                absent, frozenset(value for value in excluded if _is_within(value, low, high)), True, low, high
            )
        listed = other.values if self.is_complement else self.values
        return Domain(absent, frozenset(value for value in listed if self.holds(value) and other.holds(value)), False)


def _is_within(value: str, low: int | None, high: int | None) -> bool:
    if low is None and high is None:
        return True
    number = _integer(value)
    return number is not None and (low is None or low <= number) and (high is None or number <= high)


ANY = Domain(True, frozenset(), True)
PRESENT = Domain(False, frozenset(), True)


class Requirement(NamedTuple):
    """What the value of one label has to be."""

    key: str
    domain: Domain

    def __str__(self) -> str:
        """As selectors are written; the numeric operators as node selectors have them."""
        _, values, is_complement, low, high = self.domain
        if low is not None or high is not None:
            return f"{self.key} Gt {low - 1}" if low is not None else f"{self.key} Lt {(high or 0) + 1}"
        operator = ("NotIn" if is_complement else "In") if values else ("Exists" if is_complement else "DoesNotExist")
        return f"{self.key} {operator} {', '.join(sorted(values))}".strip()


Selector = tuple[Requirement, ...]
"""Requirements, all of which have to hold; the empty one matches everything."""
NOTHING: Selector = (Requirement("", Domain(False, frozenset(), False)),)
"""Matches no labels: what a missing selector is, and one that the API server refuses."""


def requirement(
    key: str, operator: str, values: Collection[str] = (), operators: Collection[str] = LABEL_OPERATORS
) -> Requirement:
    """A requirement by its operator.

    Raises:
        Refused: for an operator or a key that does not exist, and values that do not belong to the operator.
    """
    if operator not in operators or not is_label_key(key) or not all(map(is_label_value, values)):
        raise Refused(f"{key} {operator} {values}")
    return Requirement(key, _domain(operator, tuple(values)))


@lru_cache(maxsize=4096)
def _domain(operator: str, values: tuple[str, ...]) -> Domain:
    if operator in ("In", "NotIn"):
        if not values:
            raise Refused(f"{operator} without values")
        return Domain(operator == "NotIn", frozenset(values), operator == "NotIn")
    if operator in ("Exists", "DoesNotExist"):
        if values:
            raise Refused(f"{operator} with values")
        return Domain(operator == "DoesNotExist", frozenset(), operator == "Exists")
    number = _integer(values[0]) if len(values) == 1 else None
    if number is None:
        raise Refused(f"{operator} {values}: not one integer")
    if operator in ("Gt", "Gte"):
        return PRESENT._replace(low=number + (operator == "Gt"))
    return PRESENT._replace(high=number - (operator == "Lt"))


def equals(key: str, value: str) -> Requirement:
    """The requirement that a label has one value, as maps of labels have it: they are not validated."""
    return Requirement(key, _domain("In", (value,)))


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is selected."""
    return all(domain.holds(labels.get(key)) for key, domain in selector)


class LabelIndex:
    """Named things by their labels."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels
        self._by_label: dict[tuple[str, str], list[str]] = {}
        self._selected: dict[Selector, tuple[str, ...]] = {}
        for name, own in labels.items():
            for label in own.items():
                self._by_label.setdefault(label, []).append(name)

    def select(self, selector: Selector) -> tuple[str, ...]:
        """The names of the selected things."""
        if selector not in self._selected:
            some = self._candidates(selector)
            self._selected[selector] = tuple(name for name in some if matches(selector, self._labels[name]))
        return self._selected[selector]

    def _candidates(self, selector: Selector) -> Iterable[str]:
        """The things among which the selected ones are: all, or those with a value that is listed."""
        for key, domain in selector:
            if not (domain.absent or domain.is_complement):
                return [name for value in sorted(domain.values) for name in self._by_label.get((key, value), ())]
        return self._labels


def satisfiable(wanted: Iterable[Requirement], unwanted: Iterable[Selector]) -> bool:
    """Whether labels exist that meet every wanted requirement and that no unwanted selector matches.

    Only for requirements without bounds, as those of LabelSelectors are.
    """
    known: dict[str, Domain] = {}
    for key, domain in wanted:
        known[key] = met = known.get(key, ANY).meet(domain)
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
    return any(known.get(key, ANY).meet(domain).is_empty for key, domain in selector)


def _ways_to_miss(selector: Selector, known: dict[str, Domain]) -> list[dict[str, Domain]]:
    """What the labels may still be once one of the requirements fails, for each of them."""
    failed = ((key, known.get(key, ANY).meet(_complement(domain))) for key, domain in selector)
    return [{**known, key: domain} for key, domain in failed if not domain.is_empty]


def _complement(domain: Domain) -> Domain:
    return Domain(not domain.absent, domain.values, not domain.is_complement)


def _integer(text: str) -> int | None:
    """A number of 64 bits, as Go's strconv.ParseInt reads it; None for any other text."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
