"""Values that a node label may have, as requirements of pools and pods bound them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuc.objects.object_set import items

_MOST_DIGITS = 18


class Span(NamedTuple):
    """The values that a label may have: some, all but some, or numbers in bounds."""

    only: frozenset[str] | None = None
    """None: any."""
    never: frozenset[str] = frozenset()
    above: float = float("-inf")
    below: float = float("inf")

    def has(self, value: str) -> bool:
        """Whether a value is among them."""
        if (self.only is not None and value not in self.only) or value in self.never:
            return False
        if self.above == float("-inf") and self.below == float("inf"):
            return True
        number = _number(value)
        return number is not None and self.above < number < self.below

    def meets(self, other: Span) -> bool:
        """Whether some value is in both; of two spans without a list of values, always."""
        for ours, theirs in ((self, other), (other, self)):
            if ours.only is not None:
                return any(ours.has(value) and theirs.has(value) for value in ours.only)
        return True

    def within(self, other: Span) -> Span:
        """The values that are in both."""
        only = self.only if other.only is None else other.only if self.only is None else self.only & other.only
        return Span(only, self.never | other.never, max(self.above, other.above), min(self.below, other.below))


def span(operator: Any, values: Any) -> Span | None:
    """What a requirement leaves of a label's values; None where the label must not be there, or of a strange one."""
    texts = frozenset(each for _, each in items(values) if isinstance(each, str))
    number = next((found for each in texts if (found := _number(each)) is not None), None)
    match operator:
        case "In":
            return Span(texts)
        case "NotIn":
            return Span(never=texts)
        case "Exists":
            return Span()
        case "Gt" | "Gte" if number is not None:
            return Span(above=number - (operator == "Gte"))
        case "Lt" | "Lte" if number is not None:
            return Span(below=number + (operator == "Lte"))
    return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None
