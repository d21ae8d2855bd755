"""Finds the line and column of a character that is inside of a YAML string."""

import re

from gpuc.diagnostics.finding import Mark
from gpuc.documents.reader import mark_at

_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*[ \t]*(#[^\r\n]*)?(\r\n|\r|\n)")
_SPACE = " \t\r\n"


def mark_in_string(text: str, start: Mark, value: str, offset: int) -> Mark | None:
    """Returns the position of a character of a string in the file; None if it is uncertain, for example with escapes.

    The text of a plain, quoted or block string in the file differs from its value only by white space, unless the
    string has escapes. So the function compares the text and the value character by character. It treats every run of
    white space as equal to every other run.

    Args:
        text: the text of the file.
        start: the position of the string in the file.
        value: the string.
        offset: the number of characters of the string before the character.
    """
    place = offset_of(text, start)
    if header := _BLOCK_HEADER.match(text, place):
        place = header.end()
    elif text[place : place + 1] in ("'", '"') and not value.startswith(text[place]):
        place += 1
    place = _after_space(text, place)
    index = _after_space(value, 0)
    while index < offset:
        if index < len(value) and value[index] in _SPACE:
            index, next_place = _after_space(value, index), _after_space(text, place)
            if next_place == place:
                return None
            place = next_place
        elif place < len(text) and index < len(value) and text[place] == value[index]:
            index, place = index + 1, place + 1
        else:
            return None
    return mark_at(text, place, start.file)


def _after_space(text: str, index: int) -> int:
    while index < len(text) and text[index] in _SPACE:
        index += 1
    return index


def offset_of(text: str, mark: Mark) -> int:
    """Converts a line and column of a text into the number of characters before this position."""
    place = 0
    for _ in range(mark.line - 1):
        end = re.compile(r"\r\n|\r|\n").search(text, place)
        place = end.end() if end else len(text)
    return place + mark.column - 1
