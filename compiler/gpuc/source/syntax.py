"""Explains why a text is not YAML. The mistake is often before the position where the parser stops."""

import re

from msgspec import Struct

from gpuc.diagnostics.finding import Finding, Mark, Related
from gpuc.source.indentation import SYNTAX, TAB, wrong_indentation
from gpuc.source.open_ends import CLOSING, OpenEnd, first_open_end
from gpuc.source.typography import quoted, spaces_that_are_letters

_EXPLANATIONS = {
    "mapping values are not allowed": "a colon is not allowed here: quote text with a colon, or check the indentation",
    "sequence entries are not allowed": "a list cannot begin here: put the first dash of the list on a new line",
    "found unexpected end of stream": "the closing quote is missing",
    "expected <block end>, but found '-'": "an entry of a list is not allowed in a map; expected a key",
    "expected <block end>": "a key is expected here: check the indentation and the line before",
    "could not find expected ':'": "the colon after a key is missing, or text of several lines has no quotes",
    "',' or ": "a comma is missing, or a text with brackets has no quotation marks",
    "expected the node content": "a value is expected here",
    "unknown escape character": "a backslash begins an escape in double quotes; use single quotes",
}
_NO_COLON = "the line has no colon; expected a key with a colon, or quotes around a text of several lines"
_line_break = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Source: https://yaml.org/spec/1.1/#id871136. The parser counts these lines."""
_tabbed = re.compile(r"[ ]*\t[ \t]*[^\s#]")
_no_colon = re.compile(r"(?P<key>[A-Za-z][\w./-]*)(?P<sign>[ \t]*=|:(?=\S))?[ \t]*(?P<value>[^\s#].*)?")
_bracket_after_key = re.compile(r"[ ]*(?:-[ ]+)*(?P<key>[A-Za-z][\w.-]*)[ ]+[\[{].*").fullmatch
_dashes = re.compile(r"^[ ]*(?:-[ ]+)*")
_comment = re.compile(r"(?:^|[ \t]+)#.*|[ \t]+$")
_one_value = re.compile(r"[^\s\"'\[\]{}:]+|\[[^\[\]]*\]|\{[^{}]*\}|\"[^\"]*\"|'[^']*'")


class ParserStop(Struct, frozen=True):
    """The position where the YAML parser stopped, and the message of the parser."""

    mark: Mark
    problem: str
    start: Mark | None = None
    """The position of the collection or key that the parser was reading."""


def explain(text: str, stop: ParserStop) -> list[Finding]:
    """Returns findings about a text that is not YAML: the first mistake, or all lines with the same mistake."""
    lines, mark = _line_break.split(text), stop.mark
    tabs = [number for number, line in enumerate(lines, 1) if _tabbed.match(line)]
    if {mark.line, mark.line - 1} & set(tabs):
        marks = [Mark(mark.file, number, lines[number - 1].index("\t") + 1) for number in tabs]
        return [TAB.at((), "the line is indented with a tab", fix="indent with spaces", mark=tab) for tab in marks]
    if spaces := spaces_that_are_letters(lines, mark.file):
        return spaces
    sign = first_open_end(lines)
    if sign and (sign.line, sign.column) <= (mark.line, mark.column):
        return [_open_end(sign, lines, mark)]
    found = _key_before_bracket(lines, stop) or _missing_colon(lines, stop) or _second_colon(lines, stop)
    found = found or wrong_indentation(lines, mark, stop.problem)
    if found:
        return [found]
    if "expected alphabetic or numeric character" in stop.problem and stop.start:
        return [_reserved_character(lines[stop.start.line - 1], stop.start)]
    if "cannot start any token" in stop.problem:
        return [_reserved_character(lines[mark.line - 1], mark)]
    problem = stop.problem
    if "',' or " in problem and re.match(r":[ ]*[,\]}]", lines[mark.line - 1][mark.column - 1 :]):
        problem = "mapping values are not allowed"  # `{a: b:}`
    explanation = next((words for part, words in _EXPLANATIONS.items() if part in problem), problem)
    return [_finding(mark, f"the text is not YAML: {explanation}")]


def _finding(mark: Mark, message: str, fix: str = "", stop: Mark | None = None) -> Finding:
    is_elsewhere = stop is not None and stop.line != mark.line
    related = [Related("the YAML parser stops here", mark=stop)] if is_elsewhere else []
    return SYNTAX.at((), message, fix=fix, mark=mark, related=related)


def _open_end(sign: OpenEnd, lines: list[str], stop: Mark) -> Finding:
    mark, opening = Mark(stop.file, sign.line, sign.column), {closing: opening for opening, closing in CLOSING.items()}
    if not sign.is_closing:
        kind, closing = ("bracket", CLOSING[sign.sign]) if sign.sign in CLOSING else ("quotation mark", sign.sign)
        return _finding(mark, f"the {kind} {sign.sign} is not closed", f"add the closing {kind} {closing}", stop)
    if sign.sign in opening:
        return _finding(mark, f"the bracket {sign.sign} closes no bracket {opening[sign.sign]}")
    if sign.sign == "'" and lines[sign.line - 1][sign.column : sign.column + 1].isalnum():
        return _finding(mark, "the apostrophe ends the text in quotes", "write '' for the apostrophe")
    return _finding(mark, "text follows the closing quotation mark; expected the end of the value")


def _reserved_character(line: str, mark: Mark) -> Finding:
    """Returns the finding about a value that begins with a character that YAML reserves, or with a tab."""
    value = _comment.sub("", line[mark.column - 1 :])
    if value.startswith("\t") or not value:
        return _finding(mark, "the value begins with a tab; expected a space", "replace the tab by a space")
    fix = "" if re.search(r"[\[\]{}\"']", line) else f"put the value in quotes: {quoted(value)}"
    return _finding(mark, f"a value cannot begin with {value[0]}; put the value in quotes", fix)


def _key_before_bracket(lines: list[str], stop: ParserStop) -> Finding | None:
    """Returns the finding about `runs {longest: 72h, checkpointEvery: 30m}`, where the first colon is missing."""
    match = _bracket_after_key(lines[stop.mark.line - 1])
    if match is None or match.start("key") >= stop.mark.column:
        return None
    mark = Mark(stop.mark.file, stop.mark.line, match.start("key") + 1)
    return _finding(mark, f"the colon after {match['key']} is missing", f"add a colon after {match['key']}")


def _missing_colon(lines: list[str], stop: ParserStop) -> Finding | None:
    """Returns the finding about a line that is a key without a colon, or without a space after the colon."""
    if "could not find expected ':'" in stop.problem and stop.start:
        line, column = stop.start.line, stop.start.column
    elif any(part in stop.problem for part in ("mapping values are not allowed", "'<block mapping start>'")):
        line, column = _start_before(lines, stop.mark.line)
    else:
        return None
    content = _comment.sub("", lines[line - 1][column - 1 :]) if line else ""
    if re.fullmatch(r"-[A-Za-z][^:]*", content):
        mark = Mark(stop.mark.file, line, column)
        return _finding(mark, "a space is missing after the dash", f"write - {content[1:]}", stop.mark)
    match = _no_colon.fullmatch(content)
    if match is None or re.search(r":(?:\s|$)", match[0]):
        return None
    key, sign, value = match["key"], match["sign"] or "", match["value"] or ""
    fix = f"write {key}: {value}".rstrip() if not value or _one_value.fullmatch(value) else ""
    missing = f"the colon after {key} is missing" if fix else _NO_COLON
    messages = {"": missing, ":": f"a space is missing after the colon of {key}"}
    message = messages.get(sign, f"{key} is followed by =; expected a colon")
    return _finding(Mark(stop.mark.file, line, column), message, fix, stop.mark)


def _second_colon(lines: list[str], stop: ParserStop) -> Finding | None:
    """Returns the finding about a value that contains a colon and a space, and has no quotes."""
    match = re.match(r"[ ]*(?:-[ ]+)*([\w./-]+):[ ]+([^\"'\[\]{}#|>&*!].*)", lines[stop.mark.line - 1])
    if match is None or "mapping values are not allowed" not in stop.problem or match.start(2) >= stop.mark.column:
        return None
    value = _comment.sub("", match[2])
    message = f"the value of {match[1]} contains a colon and has no quotes"
    return _finding(stop.mark, message, "" if value.endswith(":") else f"put the value in quotes: {quoted(value)}")


def _start_before(lines: list[str], number: int) -> tuple[int, int]:
    """Returns the line and column of the nearest text above a line that begins at most at the column of the line.

    Comments do not count. Without such a text, the result is two zeros.
    """
    limit = _column(lines[number - 1])
    for line in range(number - 1, 0, -1):
        content = lines[line - 1].strip()
        if content and not content.startswith("#") and _column(lines[line - 1]) <= limit:
            return line, _column(lines[line - 1])
    return 0, 0


def _column(line: str) -> int:
    """Returns the column of the first character after the indentation and the dashes of a line."""
    return len(line) - len(_dashes.sub("", line)) + 1
