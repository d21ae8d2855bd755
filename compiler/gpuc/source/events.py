"""The events of the YAML parser, or findings that explain why a text is not YAML."""

from __future__ import annotations

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
        raise StageError(_findings(text, file, error, yaml.reader)) from None


def _findings(text: str, file: str, error: Exception, reader: Any) -> list[Finding]:
    """Returns the findings that explain an exception of the parser."""
    from gpuc.source.syntax import ParserStop, explain  # imported here, because a correct spec needs no explanation

    context = getattr(error, "context_mark", None)
    position = getattr(error, "problem_mark", None) or context or reader
    start = Mark(file, context.line + 1, context.column + 1) if context else None
    problem = getattr(error, "problem", None) or "the parser cannot continue"
    return explain(text, ParserStop(Mark(file, position.line + 1, position.column + 1), problem, start))
