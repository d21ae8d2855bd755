"""Shows the current step of a command that takes long: a changing line on a terminal, and further lines in CI."""

import os
from collections.abc import Callable
from time import monotonic
from typing import TextIO

from gpuc.diagnostics.report.terminal import is_terminal, visible

_DELAY_SECONDS = 0.3
"""Time after which the progress line appears on a terminal."""
_REDRAW_SECONDS = 0.05
"""Shortest time between two changes of the progress line."""
LINE_SECONDS = 10.0
"""Shortest time between two lines in CI."""
_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Shows the current step of a command.

    On a terminal, one line shows the step and changes with the step. If the environment variable CI is set, each step
    is a line without control characters, and there is some time between two lines. Otherwise nothing is shown.

    Args:
        stream: the stream for the steps; None to show nothing.
        clock: returns the time in seconds.
        first_line_after: the seconds in CI before the first line, so that a short command prints none.
    """

    def __init__(
        self, stream: TextIO | None, clock: Callable[[], float] = monotonic, first_line_after: float = LINE_SECONDS
    ) -> None:
        self._is_plain = bool(os.environ.get("CI"))
        is_shown = self._is_plain or (is_terminal(stream) and os.environ.get("TERM") != "dumb")
        self._stream = stream if is_shown else None
        self._clock = clock
        self._show_at = clock() + (first_line_after if self._is_plain else _DELAY_SECONDS)
        self._shown = False

    def __call__(self, step: str) -> None:
        """Shows the step that starts now, unless another step was shown just before."""
        if self._stream is None or self._clock() < self._show_at:
            return
        self._show_at = self._clock() + (LINE_SECONDS if self._is_plain else _REDRAW_SECONDS)
        if self._is_plain:
            self._write(f"{visible(step)}\n")
            return
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
        except (OSError, ValueError):  # closed, or an encoding without the characters
            self._stream = None


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
