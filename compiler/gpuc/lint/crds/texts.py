"""Functions over text that Kubernetes adds to CEL: regular expressions, and CEL's own string extension.

Source: k8s.io/apiserver v0.35 pkg/cel/library/regex.go, github.com/google/cel-go ext/strings.go (version 2)
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpuc.lint.crds.answers import NoValueError

_SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What unicode calls white space, and Python's strip() does not know exactly so."""
_PLAIN = re.compile(
    r"""(?: [^\\\[\](){}?*+|^$.] | [.^$|()] | \(\?: | \\[dswDSWbB] | \\[^a-zA-Z0-9_]
    | [*+?]\?? | \{\d+(?:,\d*)?\}\?? | \[\^?\]?(?: [^\\\[\]] | \\[dsw] | \\[^a-zA-Z0-9_])*\] )*""",
    re.VERBOSE | re.ASCII,
)
"""Expressions that mean the same to Go and to Python, once $ is the very end of a text."""
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:[^\\\]]|\\.)*\]|\$", re.DOTALL)


def find(text: str, pattern: str) -> str:
    """The first match; empty where there is none."""
    match = _compiled(pattern).search(text)
    return match[0] if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All matches, or so many of them: an empty match right behind another is none, as in Go."""
    compiled, found, at, behind = _compiled(pattern), list[str](), 0, -1
    while (limit < 0 or len(found) < limit) and at <= len(text) and (match := compiled.search(text, at)):
        if match.end() > at or match.start() != behind:
            found.append(match[0])
        at = match.end() if match.end() > at else at + 1
        behind = match.end()
    return found


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The expression for Python.

    Raises:
        ValueError: when it is written in a way of which it is not known that both read it alike.
    """
    if not _PLAIN.fullmatch(pattern):
        raise ValueError(f"the regular expression {pattern} is not one that Go and Python surely read alike")
    ended = _TOKEN.sub(lambda token: r"\Z" if token[0] == "$" else token[0], pattern)
    try:
        return re.compile(ended, re.ASCII)
    except re.error as error:
        raise ValueError(f"the regular expression {pattern} is not read here: {error}") from error


def char_at(text: str, at: int) -> str:
    """The character there; empty right behind the last one."""
    _within(at, text)
    return text[at : at + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Where a part begins at or behind a place; -1 where it does not."""
    _within(start, text)
    return text.find(part, start)


def last_index_of(text: str, part: str, start: int | None = None) -> int:
    """Where a part begins for the last time, at or before a place; -1 where it does not."""
    if start is None:
        return text.rfind(part)
    _within(start, text)
    return text.rfind(part, 0, start + len(part))


def substring(text: str, start: int, end: int | None = None) -> str:
    """The part between two places."""
    stop = len(text) if end is None else end
    _within(start, text)
    _within(stop, text)
    if start > stop:
        raise NoValueError(f"a part from {start} to {stop}")
    return text[start:stop]


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """The parts, the last one with what is left behind a limit."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    count = len(text) if limit < 0 else min(limit, len(text))
    return [*text[: count - 1], text[count - 1 :]] if count else []


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Every occurrence replaced, or so many of them."""
    return text.replace(old, new, limit)


def join(parts: list[str], separator: str = "") -> str:
    """The parts in one text.

    Raises:
        TypeError: when one is no text.
    """
    return separator.join(parts)


def lower_ascii(text: str) -> str:
    """Small letters for the 26 of ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def upper_ascii(text: str) -> str:
    """Capital letters for the 26 of ASCII."""
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


def trim(text: str) -> str:
    """Without white space around it."""
    return text.strip(_SPACES)


def reverse(text: str) -> str:
    """From the last character to the first."""
    return text[::-1]


def _within(at: int, text: str) -> None:
    if not 0 <= at <= len(text):
        raise NoValueError(f"place {at} of a text of {len(text)} characters")
