"""Which known name a wrong one means, and how messages say so."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_SEPARATORS = re.compile(r"[-_./ ]+")
_DIGITS = re.compile(r"\d+")
_LEAST_WORD = 5
"""Letters of a word below which another letter makes another word: "gpu" and "cpu", "us" and "eu"."""
_LEAST_NAME = 3
_LONG_WORD = 8
"""Letters from which a word with two slips is still the same word: "kube" and "kueue" are two."""
_MOST_SLIPS = 2
_MOST_SHOWN = 6
_MOST_COMPARED = 5000


def misspelt(name: str, known: Iterable[str]) -> str:
    """The one known name that this one certainly means; empty where there is none, or more than one.

    Names that differ in a figure ("h100", "h200") or in a short word ("team-a", "team-b") are two names.
    """
    found: dict[int, list[str]] = {}
    compared = 0
    for other in known:
        if abs(len(other) - len(name)) > 2 or other == name:
            continue
        compared += 1
        if compared > _MOST_COMPARED:
            return ""
        if (slips := _slips(name, other)) is not None:
            found.setdefault(slips, []).append(other)
    best = found[min(found)] if found else []
    return best[0] if len(set(best)) == 1 else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like one that is wrong for certain; empty where none is like it."""
    from difflib import get_close_matches  # only where something is wrong

    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The words " (did you mean X?)" for the known name that is most like one that is wrong; empty without one."""
    near = nearest(name, sorted(known))
    return f" (did you mean {near}?)" if near else ""


def missing(what: str, name: str, known: Collection[str], near: str = "") -> str:
    """That nothing has a name, and what there is."""
    return f'{what} "{name}" does not exist{instead(known, near)}'


def instead(known: Collection[str], near: str = "") -> str:
    """How a sentence about what is not there ends: with the near name, or with the list where it is short."""
    if near:
        return f', did you mean "{near}"'
    if not known:
        return ""
    shown = sorted(known)[:_MOST_SHOWN]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"; there are {', '.join(shown)}{more}"


def write(near: str) -> str:
    """The fix that puts a name in the place of another; empty without one."""
    return f"write {near}" if near else ""


def _slips(name: str, other: str) -> int | None:
    """How many slips of the pen turn one name into the other; None where they are two names."""
    if min(len(name), len(other)) < _LEAST_NAME or _DIGITS.findall(name) != _DIGITS.findall(other):
        return None
    left, right = name.casefold(), other.casefold()
    if _SEPARATORS.sub("", left) == _SEPARATORS.sub("", right):
        return 0
    ours, theirs = _SEPARATORS.split(left), _SEPARATORS.split(right)
    if len(ours) != len(theirs):
        return None
    slips = [_word_slips(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    total = sum(each for each in slips if each is not None)
    return None if None in slips or total > _MOST_SLIPS else total


def _word_slips(left: str, right: str) -> int | None:
    """The same of one word: none in a short one but a letter more at its end, two only in a long one."""
    if left.startswith(right) or right.startswith(left):
        return 1 if abs(len(left) - len(right)) == 1 and min(len(left), len(right)) >= _LEAST_NAME else None
    if max(len(left), len(right)) < _LEAST_WORD:
        return None
    most = _MOST_SLIPS if min(len(left), len(right)) >= _LONG_WORD else 1
    slips = _distance(left, right, most)
    return slips if slips <= most else None


def _distance(left: str, right: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours; more than the most is the most and one."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:
            return most + 1
    return row[-1]
