"""Long commands print plain lines in CI, and nothing if the output is a pipe outside of CI."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.cli import lint_command
from gpuc.diagnostics.report.progress import LINE_SECONDS, Progress
from gpuc.lint import linter
from tests.conftest import ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, *seconds: float, first: float = LINE_SECONDS) -> str:
    """The text on the stream if a step starts at each of the times."""
    now = [0.0]
    progress = Progress(stream, lambda: now[0], first)
    for second in seconds:
        now[0] = second
        progress(f"prod-use1: step\n\x1b[31m {second}")
    progress.close()
    return stream.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_lines_in_ci_have_time_between_them_and_no_control_characters(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    assert shown(stream(), 0.0, 1.0, 9.9) == ""
    lines = "".join(f"prod-use1: step\\n\\x1b[31m {second}\n" for second in (0.0, 10.0, 25.0))
    assert shown(stream(), 0.0, 0.1, 9.9, 10.0, 19.0, 25.0, 26.0, first=0) == lines


@pytest.fixture(params=["", None])
def outside_of_ci(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    if request.param is not None:
        monkeypatch.setenv("CI", request.param)


@pytest.mark.usefixtures("outside_of_ci")
def test_outside_of_ci_only_long_work_on_a_terminal_has_a_line_which_is_cleared() -> None:
    assert shown(io.StringIO(), 100.0, 200.0, first=0) == shown(io.StringIO(), 1.0, 2.0) == ""
    assert shown(Terminal(), 0.1, 0.2) == ""
    lines = "".join(f"\r\x1b[Kprod-use1: step\\n\\x1b[31m {second}" for second in (0.4, 0.5))
    assert shown(Terminal(), 0.1, 0.4, 0.41, 0.5) == f"{lines}\r\x1b[K"


class Gone(Terminal):
    def write(self, text: str) -> int:
        raise OSError


@pytest.mark.usefixtures("outside_of_ci")
def test_progress_ignores_a_closed_terminal() -> None:
    assert shown(Gone(), 1.0, 2.0) == ""


def test_a_closed_stream_does_not_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    stream, now = io.StringIO(), [0.0]
    progress = Progress(stream, lambda: now[0], 0)
    progress("before")
    written = stream.getvalue()
    stream.close()
    now[0] = LINE_SECONDS
    progress("after")
    progress.close()
    assert (written, stream.closed) == ("before\n", True)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["check"], ["plan", "--against", "HEAD"]])
def test_a_run_in_ci_writes_no_control_characters_to_a_terminal(command: list[str]) -> None:
    control, terminal = pty.openpty()
    environment = {**os.environ, "CI": "true", "PYTHONPATH": str(ROOT / "compiler"), "NO_COLOR": "1"}
    arguments = [sys.executable, "-m", "gpuc.cli.main", *command]
    done = subprocess.run(
        arguments,
        cwd=Path(ROOT) / "examples/hub",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=False,
    )
    os.close(terminal)
    os.set_blocking(control, False)
    try:
        shown_text = os.read(control, 1 << 16)
    except (BlockingIOError, OSError):
        shown_text = b""
    os.close(control)
    assert done.returncode in (0, 1)
    assert b"\x1b" not in shown_text + done.stdout


@pytest.mark.parametrize(("many", "expected"), [(3, ["reading file 1 of 3", "checking 3 objects"]), (4, [])])
def test_lint_shows_steps_only_for_many_files(
    many: int, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(linter, "MANY", many)
    monkeypatch.setattr(lint_command, "Progress", lambda stream: Progress(stream, iter(range(0, 1000, 20)).__next__))
    monkeypatch.setenv("CI", "true")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n")
    lint_command.run_lint([str(tmp_path)], form="json")
    out, err = capsys.readouterr()
    assert "reading" not in out
    assert [line for line in err.splitlines() if line in ("reading file 1 of 3", "checking 3 objects")] == expected
