"""Finds spaces and quotation marks from word processors and web pages. YAML reads these characters as letters."""

import re

from gpuc.diagnostics.finding import Finding, Mark
from gpuc.source.encoding import INVISIBLE

_MAX_FINDINGS = 10
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f", "\u2018\u2019\u201a\u201b"

_structural_space = re.compile(rf"^[ \t]*(?:-[ ]+)*([{_SPACES}])|:[ ]*([{_SPACES}])|-([{_SPACES}])")
_space_in_plain = re.compile(rf"^[{_SPACES}]|[{_SPACES}]$|(?<=:)[{_SPACES}]|(?<=^-)[{_SPACES}]")


def spaces_that_are_letters(lines: list[str], file: str) -> list[Finding]:
    """Returns findings for lines in which another space than U+0020 is the indentation or is before a value."""
    found = ((number, _structural_space.search(line)) for number, line in enumerate(lines, 1) if not line.isascii())
    marks = [(match[match.lastindex or 0], Mark(file, number, match.end())) for number, match in found if match]
    return [_space(character, mark) for character, mark in marks[:_MAX_FINDINGS]]


def space_in_plain(text: str, mark: Mark, is_one_line: bool) -> Finding | None:
    """Returns a finding if a text without quotes has a space other than U+0020 at an end, or after a colon or dash.

    Args:
        mark: the position of the text.
        is_one_line: whether the text is in one line of the file.
    """
    match = _space_in_plain.search(text)
    if match is None:
        return None
    column = mark.column + match.start() if is_one_line else mark.column
    return _space(match[0], Mark(mark.file, mark.line, column))


def curly_quotes(text: str, mark: Mark) -> Finding | None:
    """Returns a finding if a text without YAML quotes begins or ends with a typographic quotation mark.

    A text with a quotation in it, such as `see “limits”`, has no finding.
    """
    inner = text.lstrip(_DOUBLE + _SINGLE)
    begins = inner != text
    inner = inner.rstrip(_DOUBLE + _SINGLE if begins or " " not in text else _DOUBLE)
    if len(inner) == len(text) or any(character in _DOUBLE for character in inner):
        return None
    inner = inner.strip("\"'")
    sign = text[0] if begins else text[-1]
    message = f"YAML reads the quotation mark {sign} of {text} as a letter; expected straight quotation marks"
    return INVISIBLE.at((), message, fix=f"replace {text} by {quoted(inner)}", mark=mark)


def quoted(text: str) -> str:
    """Returns the text in double quotes, or in single quotes if it contains a double quote or a backslash."""
    return f"'{text}'" if '"' in text or "\\" in text else f'"{text}"'


def name_of(character: str) -> str:
    """Returns the code point and the Unicode name of a character, for example "U+00A0 (no-break space)"."""
    from unicodedata import name  # imported here, because a correct spec has no such character

    words = name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({words})" if words else "")


def _space(character: str, mark: Mark) -> Finding:
    message = f"YAML reads the character {name_of(character)} as a letter; expected a space"
    return INVISIBLE.at((), message, fix=f"replace U+{ord(character):04X} by a space", mark=mark)
