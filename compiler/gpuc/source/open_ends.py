"""Finds a quotation mark or a bracket that is never closed or never opened, in a text that is not YAML.

A parser reports a forgotten quotation mark at the next quotation mark or at the end of the file, and a forgotten
bracket in the next line. The scan reads the text like a parser. But it ends a quoted text and a bracket at a line that
looks like a key or a list entry after them.
"""

import re

from msgspec import Struct, field

CLOSING = {"[": "]", "{": "}"}
_QUOTES = ('"', "'")

_start_of_entry = re.compile(r" *(?:-(?: +|$))*")
_entry = re.compile(r" *(?:-(?: |$)|[\w./-]+ *:(?: |$)|(?:\"[^\"]*\"|'[^']*')\s*:(?: |$))")
_key = re.compile(r"[^\s\"'\[\]{},#&*!|>%@`-][^#]*?:(?: |$)|(?:\"[^\"]*\"|'[^']*') *:(?: |$)")
_block_scalar = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?$")
_skipped = re.compile(r"[ \t:]|[-?](?= |$)|[&*!][^\s,\[\]{}]*")
_skipped_in_flow = re.compile(f"{_skipped.pattern}|,")
_comment = re.compile(r"(?:^|(?<=[ \t]))#.*")
_after_quoted = re.compile(r"[ \t]*(?:$|:|(?<=[ \t])#)")
_after_quoted_in_flow = re.compile(r"[ \t]*(?:$|[:,\]}]|(?<=[ \t])#)")
_plain_in_flow = re.compile(r"(?:[^,\[\]{}:#]|:(?![\s,\[\]{}]|$)|(?<![ \t])#)+")
_plain_in_block = re.compile(r"(?:[^:#]|:(?!\s|$)|(?<![ \t])#)+")
_ends = {'"': re.compile(r'(?:[^"\\]|\\.)*?"'), "'": re.compile(r"(?:[^']|'')*?'(?!')")}


class OpenEnd(Struct, frozen=True):
    """A quotation mark or a bracket without its counterpart. Line and column begin at 1."""

    sign: str
    line: int
    column: int
    is_closing: bool = False
    """Whether the sign is a closing bracket without an opening bracket, or a quotation mark before more text."""


class _Scan(Struct):
    """The state of the scan. Columns are from 0."""

    brackets: list[OpenEnd] = field(default_factory=list)
    quote: OpenEnd | None = None
    limit: int = 0
    """The column of the key or dash before the outermost bracket, the quoted text or the text without quotes."""
    block_limit: int | None = None
    """The column of the key of a block scalar; None outside of block scalars."""
    in_plain: bool = False
    """Whether the line ended in a text without quotes, which may continue in the next line."""


def first_open_end(lines: list[str]) -> OpenEnd | None:
    """Returns the first quotation mark or bracket without its counterpart; None if there is none."""
    scan = _Scan()
    for number, line in enumerate(lines, 1):
        if found := _read_line(scan, number, line):
            return found
    return scan.quote or (scan.brackets[-1] if scan.brackets else None)


def _read_line(scan: _Scan, number: int, line: str) -> OpenEnd | None:
    indentation = len(line) - len(line.lstrip(" "))
    if scan.block_limit is not None:
        if indentation > scan.block_limit or not line.strip():
            return None
        scan.block_limit = None
    is_outside = indentation <= scan.limit and _entry.match(line) is not None
    if scan.quote or scan.brackets:
        if is_outside or re.match(r"---|\.\.\.", line):
            return scan.quote or scan.brackets[-1]
    elif scan.in_plain and line.strip() and indentation > scan.limit and not _entry.match(line):
        return None
    else:
        scan.in_plain = False
        start = _start_of_entry.match(line)
        column = start.end() if start else 0
        is_key = _key.match(line, column) or (column == indentation and line[column : column + 1] in _QUOTES)
        scan.limit = column if is_key else max(line.rfind("-", 0, column), 0)
    return _read_tokens(scan, number, line)


def _read_tokens(scan: _Scan, number: int, line: str) -> OpenEnd | None:
    place = 0
    if scan.quote:
        end = _ends[scan.quote.sign].match(line)
        if end is None or _has_more_text(scan, line, end.end()):
            return scan.quote if end else None
        scan.quote, place = None, end.end()
    while place < len(line) and not scan.quote:
        if _comment.match(line, place):
            scan.in_plain = False
            return None
        if not scan.brackets and _block_scalar.match(line, place):
            scan.block_limit = scan.limit
            return None
        sign, found = line[place], None
        if sign in _QUOTES:
            found, place = _read_quoted(scan, number, line, place)
        elif sign in "[]{}":
            found, place = _read_bracket(scan, number, line, place), place + 1
        else:
            skipped, plain = (_skipped_in_flow, _plain_in_flow) if scan.brackets else (_skipped, _plain_in_block)
            other = skipped.match(line, place)
            if sign != " ":
                scan.in_plain = not other and not scan.brackets
            token = other or plain.match(line, place)
            place = token.end() if token else place + 1
        if found:
            return found
    return None


def _read_quoted(scan: _Scan, number: int, line: str, place: int) -> tuple[OpenEnd | None, int]:
    """Reads a quoted text from its first quotation mark. Returns a sign without counterpart, and the next column."""
    sign = line[place]
    end = _ends[sign].match(line, place + 1)
    if end is None:
        scan.quote = OpenEnd(sign, number, place + 1)
        return None, len(line)
    if not _has_more_text(scan, line, end.end()):
        return None, end.end()
    is_apostrophe = sign == "'" and line[end.end() - 2].isalnum() and line[end.end()].isalnum()
    if line.count(sign, place) % 2 == 1 and not is_apostrophe:
        return OpenEnd(sign, number, place + 1), end.end()
    return OpenEnd(sign, number, end.end(), is_closing=True), end.end()


def _read_bracket(scan: _Scan, number: int, line: str, place: int) -> OpenEnd | None:
    sign = line[place]
    if sign in CLOSING:
        scan.brackets.append(OpenEnd(sign, number, place + 1))
    elif not scan.brackets:
        return None
    elif CLOSING[scan.brackets[-1].sign] == sign:
        scan.brackets.pop()
    elif any(CLOSING[bracket.sign] == sign for bracket in scan.brackets):
        return scan.brackets[-1]
    else:
        return OpenEnd(sign, number, place + 1, is_closing=True)
    return None


def _has_more_text(scan: _Scan, line: str, place: int) -> bool:
    """Returns whether text that YAML does not allow follows a quoted text."""
    return not (_after_quoted_in_flow if scan.brackets else _after_quoted).match(line, place)
