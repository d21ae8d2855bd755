"""The help of every command, its examples, and the answers to wrong command lines."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gpuc import __version__
from gpuc.cli.arguments import parser_of
from gpuc.cli.examples import EXAMPLES
from gpuc.cli.main import main
from gpuc.diagnostics.usage import SUMMARIES

LINES = [(command, line) for command, examples in EXAMPLES.items() for _, line in examples]


@pytest.mark.parametrize(("command", "line"), LINES)
def test_every_example_is_a_correct_command_line(
    command: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("crds", "cluster-dump"):
        (tmp_path / folder).mkdir()
    line = line.rpartition("| ")[2].rpartition("&& ")[2]
    words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    words = words[: words.index(">")] if ">" in words else words
    assert words[:2] == ["gpuc", command]
    parser_of(command).parse(words[2:])


@pytest.mark.parametrize("command", SUMMARIES)
def test_the_help_of_a_command_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert main(["help", command]) == 0
    assert capsys.readouterr().out == text
    assert text.startswith(f"usage: gpuc {command}")
    assert SUMMARIES[command] in " ".join(text.split())
    assert "\nexamples:\n" in text
    assert all(f"  # {comment}\n  {line}\n" in text for comment, line in EXAMPLES[command])
    assert max(map(len, text.splitlines())) <= 120


def test_help_without_a_command_is_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    overview = capsys.readouterr().out
    for words in (["--help"], ["-h"]):
        assert main(words) == 0
        assert capsys.readouterr().out == overview
    assert all(f"\n  {command} " in overview for command in SUMMARIES)


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"gpuc {__version__}\n"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["xyzzy"], ["no command xyzzy; the commands are compile, check, plan"]),
        (["check", "-f", "specs/a.yaml"], ["gpuc check has no argument -f"]),
        (["check", "--xyzzy"], ["has no argument --xyzzy; its options are --into, --format, --output"]),
        (["help", "chekc"], ["the argument is chekc (did you mean check?); expected compile, check"]),
        (["completion", "tcsh"], ["the argument is tcsh", "expected bash, zsh or fish"]),
        (["completion"], ["missing: shell (bash, zsh or fish)"]),
        (["version", "now"], ["gpuc version has no argument now"]),
        (["trace", "--gpus", "eight"], ["--gpus is eight; expected a whole number"]),
        (["tools", "--lws", "--jobset"], ["--jobset and --lws exclude each other"]),
        (["compile", "--into"], ["--into requires a value"]),
        (["compile", "--strict=yes"], ["--strict takes no value, but the value is yes"]),
    ],
)
def test_a_wrong_command_line_gets_an_answer_that_helps(
    words: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert all(part in err for part in parts), err
