"""Mistakes in how gpuc was called: one line to the user, exit code 2."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(Exception):
    """The command line cannot be carried out as it stands; its text says why, for the user."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The words " (did you mean X?)" for the known word most like this one, else nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, sorted(known), n=1)
    return f" (did you mean {found[0]}?)" if found else ""
