"""Label selectors: matches them with labels, and checks whether any labels can match some selectors and not others.

Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go (NewRequirement, Requirement.Matches); sigs.k8s.io/karpenter
v1.14.1 pkg/scheduling/requirement.go (bounds, Intersection)
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from gpuc.kubernetes.dns_name import is_label_key, is_label_value

LABEL_OPERATORS: Final = frozenset(("In", "NotIn", "Exists", "DoesNotExist"))
"""Operators of a LabelSelector."""
NODE_OPERATORS: Final = LABEL_OPERATORS | {"Gt", "Lt"}
"""Operators of a node selector."""
POOL_OPERATORS: Final = NODE_OPERATORS | {"Gte", "Lte"}
"""Operators of the requirements of a NodePool or a NodeOverlay."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_STEPS_MAX = 20_000
"""The maximum number of steps of the search for labels. After that, gpuc assumes that such labels exist.

Selectors of real clusters need few steps."""


class Invalid(ValueError):
    """An object has a value that the API server rejects. So the object cannot exist in a cluster."""


class Domain(NamedTuple):
    """The values that a selector allows for one label."""

    absent: bool
    """Whether the label can be missing."""
    values: frozenset[str]
    is_complement: bool
    """Whether `values` are the excluded values instead of the allowed values."""
    low: int | None = None
    """The minimum of a numeric value; None without a minimum. With a minimum or maximum, only numbers are allowed."""
    high: int | None = None
    """The maximum of a numeric value; None without a maximum."""

    @property
    def has_values(self) -> bool:
        """Whether at least one value is allowed."""
        return bool(self.values) or self.is_complement

    @property
    def is_empty(self) -> bool:
        """Whether nothing is allowed: neither a value nor a missing label."""
        return not (self.absent or self.has_values)

    @property
    def listed(self) -> frozenset[str] | None:
        """The allowed values; None if the domain lists only values that are not allowed."""
        return None if self.is_complement else self.values

    def allows(self, value: str | None) -> bool:
        """Returns whether a value is allowed; None means a missing label."""
        if value is None:
            return self.absent
        return (value in self.values) != self.is_complement and _is_within(value, self.low, self.high)

    def meet(self, other: "Domain") -> "Domain":
        """Returns the domain with the values that this domain and another domain allow."""
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
        return Domain(absent, frozenset(value for value in listed if self.allows(value) and other.allows(value)), False)


def _is_within(value: str, low: int | None, high: int | None) -> bool:
    if low is None and high is None:
        return True
    number = _integer(value)
    return number is not None and (low is None or low <= number) and (high is None or number <= high)


ANY = Domain(True, frozenset(), True)
PRESENT = Domain(False, frozenset(), True)


class Requirement(NamedTuple):
    """A requirement of a selector for one label: the key and the allowed values."""

    key: str
    domain: Domain

    def __str__(self) -> str:
        """Returns the requirement as text, for example "pool In h100, h200" or "gpus Gt 4"."""
        _, values, is_complement, low, high = self.domain
        if low is not None or high is not None:
            return f"{self.key} Gt {low - 1}" if low is not None else f"{self.key} Lt {(high or 0) + 1}"
        operator = ("NotIn" if is_complement else "In") if values else ("Exists" if is_complement else "DoesNotExist")
        return f"{self.key} {operator} {', '.join(sorted(values))}".strip()


Selector = tuple[Requirement, ...]
"""Requirements that labels must meet together. An empty selector matches all labels."""
NOTHING: Selector = (Requirement("", Domain(False, frozenset(), False)),)
"""The selector that matches no labels: for a missing selector, or a selector that the API server rejects."""


def requirement(
    key: str, operator: str, values: Collection[str] = (), operators: Collection[str] = LABEL_OPERATORS
) -> Requirement:
    """Returns the requirement of a selector, as in matchExpressions.

    Args:
        operators: the allowed operators.

    Raises:
        Invalid: for an unknown operator, an invalid key, or values that do not fit the operator.
    """
    if operator not in operators or not is_label_key(key) or not all(map(is_label_value, values)):
        raise Invalid(f"{key} {operator} {values}")
    return Requirement(key, _domain(operator, tuple(values)))


@lru_cache(maxsize=4096)
def _domain(operator: str, values: tuple[str, ...]) -> Domain:
    if operator in ("In", "NotIn"):
        if not values:
            raise Invalid(f"{operator} without values")
        return Domain(operator == "NotIn", frozenset(values), operator == "NotIn")
    if operator in ("Exists", "DoesNotExist"):
        if values:
            raise Invalid(f"{operator} with values")
        return Domain(operator == "DoesNotExist", frozenset(), operator == "Exists")
    number = _integer(values[0]) if len(values) == 1 else None
    if number is None:
        raise Invalid(f"{operator} {values}: not one integer")
    if operator in ("Gt", "Gte"):
        return PRESENT._replace(low=number + (operator == "Gt"))
    return PRESENT._replace(high=number - (operator == "Lt"))


def equals(key: str, value: str) -> Requirement:
    """Returns the requirement that a label has this value, as in matchLabels. The arguments are not validated."""
    return Requirement(key, _domain("In", (value,)))


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Returns whether the selector matches the labels."""
    return all(domain.allows(labels.get(key)) for key, domain in selector)


class LabelIndex:
    """An index of named objects, which finds the objects whose labels match a selector."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels
        self._by_label: dict[tuple[str, str], list[str]] = {}
        self._selected: dict[Selector, tuple[str, ...]] = {}
        for name, own in labels.items():
            for label in own.items():
                self._by_label.setdefault(label, []).append(name)

    def select(self, selector: Selector) -> tuple[str, ...]:
        """Returns the names of the objects whose labels match a selector."""
        if selector not in self._selected:
            candidates = self._candidates(selector)
            self._selected[selector] = tuple(name for name in candidates if matches(selector, self._labels[name]))
        return self._selected[selector]

    def _candidates(self, selector: Selector) -> Iterable[str]:
        """Returns the names that can match. If the selector lists values of a label, other names are excluded."""
        for key, domain in selector:
            if not (domain.absent or domain.is_complement):
                return [name for value in sorted(domain.values) for name in self._by_label.get((key, value), ())]
        return self._labels


def satisfiable(wanted: Iterable[Requirement], unwanted: Iterable[Selector]) -> bool:
    """Returns whether an object can have labels that meet all wanted requirements and match no unwanted selector.

    The requirements must not have the numeric operators Gt and Lt, which a LabelSelector cannot have either.
    """
    known: dict[str, Domain] = {}
    for key, domain in wanted:
        known[key] = met = known.get(key, ANY).meet(domain)
        if met.is_empty:
            return False
    candidates = [(known, sorted(set(unwanted), key=len))]
    for _ in range(_STEPS_MAX):
        if not candidates:
            return False
        known, remaining = candidates.pop()
        while remaining and any(known.get(key, ANY).meet(domain).is_empty for key, domain in remaining[0]):
            remaining = remaining[1:]  # none of the possible labels matches the selector
        if not remaining:
            return True
        candidates += [(choice, remaining[1:]) for choice in _choices_without_match(remaining[0], known)]
    return True


def _choices_without_match(selector: Selector, known: dict[str, Domain]) -> list[dict[str, Domain]]:
    """Returns for each requirement of a selector the possible labels that do not meet the requirement."""
    failed = ((key, known.get(key, ANY).meet(_complement(domain))) for key, domain in selector)
    return [{**known, key: domain} for key, domain in failed if not domain.is_empty]


def _complement(domain: Domain) -> Domain:
    return Domain(not domain.absent, domain.values, not domain.is_complement)


def _integer(text: str) -> int | None:
    """Returns the 64-bit integer in a text, as Go's strconv.ParseInt reads the text; None for any other text."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None
