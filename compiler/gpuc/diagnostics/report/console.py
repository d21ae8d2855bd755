"""Writes to stdout and stderr. A closed pipe is no error. Characters that the encoding does not have are no error."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from gpuc.diagnostics.report.terminal import Style, style_of, visible

if TYPE_CHECKING:
    from gpuc.diagnostics.report.document import Block


def print_document(blocks: "Iterable[Block]") -> None:
    """Writes a report to stdout, with colours and line breaks if stdout is a terminal."""
    from gpuc.diagnostics.report.printer import printed

    write_stdout(printed(blocks, stdout_style()))


def stdout_style() -> Style:
    """Returns the style of stdout: whether it shows colours, and the width of its lines."""
    return style_of(sys.stdout, os.environ)


def write_stdout(text: str) -> None:
    """Writes a text to stdout. A closed pipe is no error, because a reader such as `head` may stop early."""
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        # Python flushes the rest of the buffer at exit and would print an error about the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_message(text: str) -> None:
    """Writes the text as one line "gpuc: ..." to stderr, without control characters."""
    write_stderr(f"gpuc: {visible(' '.join(text.split()))}\n")


def write_stderr(text: str) -> None:
    """Writes the text to stderr. Does nothing if stderr is closed."""
    with suppress(OSError):
        _write(sys.stderr, text)


def _write(stream: TextIO | None, text: str) -> None:
    """Writes the text to a stream, with backslash escapes for characters that its encoding does not contain."""
    if stream is not None:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
