"""Formats numbers and lists of names for messages."""

from collections.abc import Iterable, Sequence

_MAX_NAMES = 3


def counted(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 node", or "4 nodes"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def shortened(text: str, length: int) -> str:
    """Returns a text with at most this number of characters. A longer text ends with "..." instead of its rest."""
    return text if len(text) <= length else f"{text[: length - 3].rstrip()}..."


def kind_of(names: Sequence[str], kind: str) -> str:
    """Returns names after their kind, for example "tenant red" or "tenants blue, red"."""
    return f"{kind}{'' if len(names) == 1 else 's'} {', '.join(names)}"


def first_names(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """Returns the first names and the number of further names, for example "a, b, c and 4 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def short_list(names: Iterable[str]) -> str:
    """Returns the first three names in alphabetical order and the number of further names: "a, b, c and 4 more"."""
    return first_names(sorted(set(names)), _MAX_NAMES)


def with_kind(kind: str, names: Iterable[str]) -> str:
    """Returns a short list of names after their kind: "tenant red", or "tenants blue, red and 4 more"."""
    several = set(names)
    return f"{kind}{'s' if len(several) > 1 else ''} {short_list(several)}"
