"""Colours and progress appear on terminals only."""

from __future__ import annotations

import io

import pytest

from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.report.terminal import Style, style_of, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (None, {}, False),
    ],
)
def test_colour(stream: io.StringIO | None, environment: dict[str, str], coloured: bool) -> None:
    assert wants_colour(stream, environment) is coloured


def test_only_lines_on_a_terminal_have_a_width() -> None:
    import os
    import pty
    import termios

    leader, follower = pty.openpty()
    with os.fdopen(leader), os.fdopen(follower, "w") as terminal:
        for columns, width in ((80, 80), (300, 120), (20, None)):
            termios.tcsetwinsize(terminal.fileno(), (24, columns))
            assert style_of(terminal, {}) == Style(colour=True, width=width)
        assert style_of(terminal, {"CI": "true"}).width is None
    assert style_of(io.StringIO(), {"FORCE_COLOR": "1"}) == Style(colour=True)
    assert style_of(None, {}) == Style()


@pytest.fixture(autouse=True)
def capable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)


def _shown(stream: io.StringIO, *seconds: float) -> str:
    """The text on the stream if a step starts at each of the times."""
    now = [0.0]
    progress = Progress(stream, clock=lambda: now[0])
    for second in seconds:
        now[0] = second
        progress(f"step\x1b at {second}")
    progress.close()
    return stream.getvalue()


def test_progress_waits_then_draws_one_line_and_clears_it() -> None:
    assert _shown(Terminal(), 0.1, 0.4, 0.41, 0.5) == ("\r\x1b[Kstep\\x1b at 0.4\r\x1b[Kstep\\x1b at 0.5\r\x1b[K")


def test_progress_is_silent_for_short_work_and_without_a_terminal() -> None:
    assert _shown(Terminal(), 0.1, 0.2) == ""
    assert _shown(io.StringIO(), 1.0, 2.0) == ""


def test_progress_ignores_a_closed_terminal() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError

    assert _shown(Gone(), 1.0, 2.0) == ""
