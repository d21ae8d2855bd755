"""Explains wrong indentation in a text that is not YAML. Finds the columns where a key or a list entry can begin."""

import re
from collections.abc import Iterator

from gpuc.diagnostics.finding import Finding, Mark, Related, rule_table

rule_of = rule_table(__file__)
SYNTAX = rule_of("YAML001")
TAB = rule_of("YAML002")

_key = re.compile(r"( *)((?:-[ ]+)*)([\w./-]+|\"[^\"]*\"|'[^']*')[ ]*:(?: |$)")
_dash = re.compile(r"( *)-(?: |$)")
_PROBLEMS = (
    "mapping values are not allowed",
    "found '<block mapping start>'",
    "found '?'",
    "expected '<document start>'",
)


def wrong_indentation(lines: list[str], stop: Mark, problem: str) -> Finding | None:
    """Returns a finding if a key or a list entry begins at a column that no map or list around it uses.

    The function checks only the line where the parser stopped.

    Args:
        lines: the lines of the file.
        stop: the position where the parser stopped.
        problem: the message of the parser.
    """
    if "<block sequence start>" in problem:
        return _entry(lines, stop)
    match = _key.match(lines[stop.line - 1])
    if match is None or match[2] or not any(part in problem for part in _PROBLEMS):
        return None
    actual = len(match[1])
    open_keys = list(_open_keys(lines, stop.line))
    deeper = [entry for entry in open_keys if entry[0] > actual][-1:]
    expected = deeper + [entry for entry in open_keys if entry[0] < actual][:1]
    if not expected or any(column == actual for column, _, _ in open_keys):
        return None
    choices = " or ".join(str(column) for column, _, _ in sorted(expected))
    key = match[3]
    message = f"{key} is indented by {_spaces(actual)}; expected {choices}"
    related = [
        Related(f"{name} is indented by {_spaces(column)}", mark=Mark(stop.file, line, column + 1))
        for column, line, name in sorted(expected)
    ]
    fix = f"indent {key} by {_spaces(expected[0][0])}" if len(expected) == 1 else ""
    return SYNTAX.at((), message, fix=fix, mark=Mark(stop.file, stop.line, actual + 1), related=related)


def _entry(lines: list[str], stop: Mark) -> Finding | None:
    """Returns a finding if the dash of a list entry is not at the column of the last dash above it."""
    match = _dash.match(lines[stop.line - 1])
    above = ((line, _dash.match(lines[line - 1])) for line in range(stop.line - 1, 0, -1))
    line, before = next(((line, found) for line, found in above if found), (0, None))
    if match is None or before is None or len(before[1]) == len(match[1]):
        return None
    column = len(before[1])
    message = f"the entry of a list is indented by {_spaces(len(match[1]))}; expected {column}"
    related = [Related(f"the entry before is indented by {_spaces(column)}", mark=Mark(stop.file, line, column + 1))]
    mark = Mark(stop.file, stop.line, len(match[1]) + 1)
    return SYNTAX.at((), message, fix=f"indent the entry by {_spaces(column)}", mark=mark, related=related)


def _open_keys(lines: list[str], number: int) -> Iterator[tuple[int, int, str]]:
    """Yields the last key of each map that is open at a line: its column (from 0), its line and its name.

    The innermost map comes first.
    """
    limit = len(lines[number - 1]) + max(map(len, lines)) + 1
    for line in range(number - 1, 0, -1):
        match = _key.match(lines[line - 1])
        if match is None or match.start(3) >= limit:
            continue
        limit = match.start(3)
        yield limit, line, match[3]


def _spaces(count: int) -> str:
    return f"{count} space" if count == 1 else f"{count} spaces"
