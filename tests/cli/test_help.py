"""The help of every command, its examples, and the answers to wrong command lines."""

import shlex
from inspect import Parameter, signature
from pathlib import Path

import pytest

from gpuc import __version__
from gpuc.cli.command import names_only
from gpuc.cli.commands import COMMANDS, declared
from gpuc.cli.main import main
from gpuc.cli.parser import Parser
from gpuc.diagnostics.report import FORMATS
from tests.tables import table

LINES = [(name, line) for name in COMMANDS for _, line in declared(name).examples]


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
    parsed = Parser(declared(command)).parse(words[2:])
    assert names_only(declared(command), words[2:]) in (None, parsed)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "<member" not in text and " object at " not in text
    assert main(["help", name]) == 0
    assert capsys.readouterr().out == text
    assert text.startswith(f"usage: gpuc {name}")
    assert COMMANDS[name].summary in " ".join(text.split())
    assert "\nexamples:\n" in text
    assert all(f"  # {comment}\n  {line}\n" in text for comment, line in declared(name).examples)
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", COMMANDS)
def test_the_function_of_a_command_takes_its_arguments(name: str) -> None:
    command = declared(name)
    function, parser = command.load(), Parser(command)
    parameters = signature(function).parameters
    given = {action.dest for action in parser.arguments if action.dest != "help"}
    expected = {"outputs" if argument == "output" else argument for argument in given}
    takes_others = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    assert takes_others or expected == set(parameters)
    positional = {action.dest for action in parser.arguments if not action.option_strings}
    named = [found for found in parameters.values() if found.kind is not Parameter.VAR_KEYWORD]
    assert {found.name for found in named if found.default is Parameter.empty} <= positional


@pytest.mark.parametrize("name", ["compile", "check"])
def test_findings_have_all_formats_of_reports(name: str) -> None:
    arguments = COMMANDS[name].arguments
    assert not callable(arguments)
    choices = {argument.usage: argument.choices for argument in arguments}
    assert choices["--format"] == choices["--output FORMAT=FILE..."] == FORMATS


def test_help_without_a_command_is_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    overview = capsys.readouterr().out
    for words in (["--help"], ["-h"]):
        assert main(words) == 0
        assert capsys.readouterr().out == overview
    assert all(f"\n  {command} " in overview for command in COMMANDS)


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"gpuc {__version__}\n"


@pytest.mark.parametrize(("words", "part"), table(__file__, "cases.yaml")["answers"].items())
def test_a_wrong_command_line_gets_an_answer_that_helps(
    words: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert part in err
