"""The progress line: the current step of a long run, on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import TextIO

from gpuc.diagnostics.report.terminal import is_terminal, visible

_DELAY_SECONDS = 0.3
"""Time after which the progress line appears."""
_REDRAW_SECONDS = 0.05
"""Shortest time between two changes of the progress line."""
_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Shows the current step of a run if the run needs some time and the stream is a terminal."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = monotonic) -> None:
        self._stream = stream if is_terminal(stream) and os.environ.get("TERM") != "dumb" else None
        self._clock = clock
        self._redraw_at = clock() + _DELAY_SECONDS
        self._shown = False

    def __call__(self, step: str) -> None:
        """Shows the step that starts now, unless the line has just changed."""
        if self._stream is None or self._clock() < self._redraw_at:
            return
        self._redraw_at = self._clock() + _REDRAW_SECONDS
        self._shown = True
        self._write(_CLEAR_LINE + visible(step)[: _columns(self._stream) - 1])

    def close(self) -> None:
        """Clears the progress line, so that the next output starts on an empty line."""
        if self._shown:
            self._shown = False
            self._write(_CLEAR_LINE)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, UnicodeEncodeError):
            self._stream = None


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
