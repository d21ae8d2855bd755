"""The progress line: the current step of a long run, on a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import TextIO

from gpuc.diagnostics.report.terminal import is_terminal, visible

_DELAY_SECONDS = 0.3
_REDRAW_SECONDS = 0.05
_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Shows the current step of a run that takes longer than a moment; silent if stderr is no terminal."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = monotonic) -> None:
        self._stream = stream if is_terminal(stream) and os.environ.get("TERM") != "dumb" else None
        self._clock = clock
        self._redraw_at = clock() + _DELAY_SECONDS
        self._shown = False

    def __call__(self, step: str) -> None:
        """Shows the step that starts now."""
        if self._stream is None or self._clock() < self._redraw_at:
            return
        self._redraw_at = self._clock() + _REDRAW_SECONDS
        self._shown = True
        self._put(_CLEAR_LINE + visible(step)[: _columns(self._stream) - 1])

    def close(self) -> None:
        """Clears the progress line, so that the next output starts on an empty line."""
        if self._shown:
            self._shown = False
            self._put(_CLEAR_LINE)

    def _put(self, text: str) -> None:
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
