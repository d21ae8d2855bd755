"""Text to whoever reads stdout and stderr, who may read another encoding, or may have gone."""

from __future__ import annotations

import os
import sys

from gpuc.diagnostics.report.terminal import visible


def put(text: str) -> None:
    """Prints to stdout; a reader who has gone had what it wanted."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(_encodable(text, sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would be flushed at exit, and complained about.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(text: str) -> None:
    """Prints one line on stderr, if it can be read."""
    put_error(f"gpuc: {visible(' '.join(text.split()))}\n")


def put_error(text: str) -> None:
    """Prints to stderr, if it can be read."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(text, sys.stderr.encoding))
        sys.stderr.flush()
    except OSError:
        return


def _encodable(text: str, encoding: str | None) -> str:
    encoding = encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
