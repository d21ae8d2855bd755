"""The events of the YAML parser, or findings that explain why a text is not YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Severity, StageError, declare_rule

SYNTAX = declare_rule(
    "YAML001", Severity.ERROR, "The text is not YAML.",
    "gpuc cannot read the text after this line and column.", "https://yaml.org/spec/1.2.2/",
)  # fmt: skip
TAB = declare_rule(
    "YAML002", Severity.ERROR, "A line is indented with a tab.",
    "YAML forbids tabs in indentation, because their width differs between editors.",
    "https://yaml.org/spec/1.2.2/#61-indentation-spaces",
)  # fmt: skip

_EXPLANATIONS = {
    "mapping values are not allowed": "a colon is not allowed here: quote text with a colon, or check the indentation",
    "sequence entries are not allowed": "a list cannot begin here: put the first dash of the list on a new line",
    "found unexpected end of stream": "the closing quote is missing",
    "expected <block end>": "a key is expected here: check the indentation and the line before",
    "could not find expected ':'": "the colon after a key is missing, or text of several lines has no quotes",
    "',' or ": "a comma or the closing bracket is missing",
    "cannot start any token": "a value cannot begin with this character: put the value in quotes",
}
_tabbed = re.compile(r"[ ]*\t[ \t]*[^\s#]")


def events(text: str, file: str) -> Iterator[Any]:
    """Yields the parser events of a text. The caller can stop before the parser reaches the end of a large text.

    Raises:
        StageError: when the text is not YAML.
    """
    from ruamel.yaml import YAML

    # The parser of libyaml refuses `{server: https://example.com}`, which YAML 1.2 allows.
    yaml = YAML(typ="safe", pure=True)
    _, parser = yaml.get_constructor_parser(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    except Exception as error:  # the parser also raises ValueError, for some invalid escapes
        position = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None) or yaml.reader
        problem = getattr(error, "problem", None) or "the parser cannot continue"
        raise StageError(_findings(text, Mark(file, position.line + 1, position.column + 1), problem)) from None


def _findings(text: str, mark: Mark, problem: str) -> list[Finding]:
    """Returns a finding for each line with a tab if a tab caused the problem; otherwise one finding at the mark."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tabs = [number for number, line in enumerate(lines, 1) if _tabbed.match(line)]
    if {mark.line, mark.line - 1} & set(tabs):
        marks = [Mark(mark.file, number, lines[number - 1].index("\t") + 1) for number in tabs]
        return [TAB.at((), "the line is indented with a tab", fix="indent with spaces", mark=tab) for tab in marks]
    explanation = next((text for part, text in _EXPLANATIONS.items() if part in problem), problem)
    return [SYNTAX.at((), f"the text is not YAML: {explanation}", mark=mark)]
