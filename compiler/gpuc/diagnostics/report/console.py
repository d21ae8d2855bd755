"""Output to stdout and stderr. A closed pipe, or a character that the encoding does not contain, is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpuc.diagnostics.report.terminal import Style, style_of, visible

if TYPE_CHECKING:
    from gpuc.diagnostics.report.document import Block


def print_document(blocks: Iterable[Block]) -> None:
    """Writes a report to stdout, with colours and line breaks if stdout is a terminal."""
    from gpuc.diagnostics.report.printer import printed

    write_stdout(printed(blocks, stdout_style()))


def stdout_style() -> Style:
    """Returns how stdout shows text."""
    return style_of(sys.stdout, os.environ)


def write_stdout(text: str) -> None:
    """Writes the text to stdout. A closed pipe is no error, because the reader may stop early, for example `head`."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(_encodable(text, sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the rest of the buffer at exit and would print an error about the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_message(text: str) -> None:
    """Writes the text as one line "gpuc: ..." to stderr, without control characters."""
    write_stderr(f"gpuc: {visible(' '.join(text.split()))}\n")


def write_stderr(text: str) -> None:
    """Writes the text to stderr. Does nothing if stderr is closed."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(text, sys.stderr.encoding))
        sys.stderr.flush()
    except OSError:
        return


def _encodable(text: str, encoding: str | None) -> str:
    """Returns the text with backslash escapes for characters that the encoding does not contain."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
