"""Finds the name that was meant instead of a misspelled name, and writes messages with this suggestion."""

import re
from collections.abc import Collection, Iterable

from gpuc.diagnostics.words import first_names

_SEPARATORS = re.compile(r"[-_./ ]+")
_DIGITS = re.compile(r"\d+")
_MIN_WORD = 5
"""Length of the shortest word that can have a typing error. Shorter words that differ are different words, for example
"gpu" and "cpu"."""
_MIN_NAME = 3
"""Length of the shortest name that can be misspelled."""
_LONG_WORD = 8
"""Length of the shortest word that can have two typing errors. "kube" and "kueue" are different words."""
_MAX_TYPOS = 2
_MAX_LISTED = 6
_MAX_COMPARED = 5000
"""Number of known names of similar length from which there is no suggestion, because the comparison takes too long."""


def misspelt(name: str, known: Iterable[str]) -> str:
    """Returns the known name that a misspelled name certainly means; an empty string if none or several are possible.

    Names that differ in a digit ("h100", "h200") or in a short word ("team-a", "team-b") are different names, so the
    function suggests none of them.
    """
    candidates: dict[int, list[str]] = {}
    compared = 0
    for candidate in known:
        if abs(len(candidate) - len(name)) > 2 or candidate == name:
            continue
        compared += 1
        if compared > _MAX_COMPARED:
            return ""
        if (typos := _typos(name, candidate)) is not None:
            candidates.setdefault(typos, []).append(candidate)
    best = candidates[min(candidates)] if candidates else []
    return best[0] if len(set(best)) == 1 else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the known name that is most similar to the name; an empty string if no known name is similar."""
    from difflib import get_close_matches  # imported here, because a correct spec needs no suggestion

    folded = {candidate.casefold(): candidate for candidate in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return folded[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the text " (did you mean X?)" with the most similar known name; empty without a similar name."""
    suggestion = nearest(name, sorted(known))
    return f" (did you mean {suggestion}?)" if suggestion else ""


def missing(noun: str, name: str, known: Collection[str], suggestion: str = "") -> str:
    """Returns the message that an object does not exist. The message ends with the suggestion or some existing names.

    `noun` is the kind of the object, for example LocalQueue.
    """
    return f'{noun} "{name}" does not exist{alternatives(known, suggestion)}'


def alternatives(known: Collection[str], suggestion: str = "") -> str:
    """Returns the end of a message about an unknown name: a suggested name, or else some names that exist."""
    if suggestion:
        return f', did you mean "{suggestion}"'
    if not known:
        return ""
    return f"; existing: {first_names(sorted(known), _MAX_LISTED)}"


def write(suggestion: str) -> str:
    """Returns the fix "write NAME" with the suggested name; an empty string without a suggestion."""
    return f"write {suggestion}" if suggestion else ""


def _typos(left_name: str, right_name: str) -> int | None:
    """Returns the number of typing errors between two names; None if typing errors cannot explain the difference."""
    if min(len(left_name), len(right_name)) < _MIN_NAME or _DIGITS.findall(left_name) != _DIGITS.findall(right_name):
        return None
    left, right = left_name.casefold(), right_name.casefold()
    if _SEPARATORS.sub("", left) == _SEPARATORS.sub("", right):
        return 0
    left_words, right_words = _SEPARATORS.split(left), _SEPARATORS.split(right)
    if len(left_words) != len(right_words):
        return None
    total = 0
    for left_word, right_word in zip(left_words, right_words, strict=True):
        typos = _word_typos(left_word, right_word) if left_word != right_word else 0
        if typos is None:
            return None
        total += typos
    return total if total <= _MAX_TYPOS else None


def _word_typos(left: str, right: str) -> int | None:
    """Returns the number of typing errors between two words; None if typing errors cannot explain the difference.

    If both words have fewer than _MIN_WORD letters, the only typing error is a missing last letter of one word. If both
    words have at least _LONG_WORD letters, two typing errors are possible; otherwise one.
    """
    if left.startswith(right) or right.startswith(left):
        return 1 if abs(len(left) - len(right)) == 1 and min(len(left), len(right)) >= _MIN_NAME else None
    if max(len(left), len(right)) < _MIN_WORD:
        return None
    limit = _MAX_TYPOS if min(len(left), len(right)) >= _LONG_WORD else 1
    distance = _distance(left, right, limit)
    return distance if distance <= limit else None


def _distance(left: str, right: str, limit: int) -> int:
    """Returns the number of inserted, deleted, replaced and swapped letters between two words, at most limit + 1.

    Source: optimal string alignment distance, https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance
    """
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > limit and min(before) > limit:
            return limit + 1
    return row[-1]
