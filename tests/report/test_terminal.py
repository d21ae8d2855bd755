"""Colours and widths are those of terminals only."""

import io

import pytest

from gpuc.diagnostics.report.terminal import Style, style_of, wants_colour
from tests.ci.test_progress import Terminal


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
