"""`gpuc completion`: prints the completion script of a shell. The script then asks gpuc for the words that fit.

A script calls `gpuc completion SHELL -- WORD...` with the words of the command line after `gpuc`, up to the cursor.
gpuc prints a line for each word that fits, with the description after a tab. The line `:files` or `:folders` asks the
script to add paths.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from gpuc.cli.commands import COMMANDS, declared
from gpuc.cli.parser import FormatAndFile, Parser
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.usage import UsageError

FILES, FOLDERS = ":files", ":folders"
"""The lines that ask a shell for paths."""
_PATHS = {"SPEC": FILES, "PATH": FILES, "FILE": FILES, "OLD": FILES, "NEW": FILES, "DIR": FOLDERS, "FOLDER": FOLDERS}
"""Which paths fit, by a part of the metavar. The first part in the metavar decides. FILES includes folders."""


class Completion(NamedTuple):
    """The words with which the command line can continue at the cursor."""

    words: dict[str, str] = {}
    """The words with their descriptions."""
    paths: str = ""
    """FILES or FOLDERS if paths fit too."""


def run_completion(shell: str) -> None:
    """Prints the completion script of a shell."""
    write_stdout((Path(__file__).parent / "completion_scripts" / f"gpuc.{shell}").read_text("utf-8"))


def print_words(words: list[str]) -> int:
    """Prints the words that fit at the cursor for a completion script, and returns the exit code."""
    completion = complete(words)
    lines = [f"{word}\t{description}" for word, description in completion.words.items()]
    write_stdout("".join(f"{line}\n" for line in (*lines, completion.paths) if line))
    return 0


def complete(words: list[str]) -> Completion:
    """Returns the words that can complete the last word of a command line. The last word may be empty.

    Args:
        words: the words after `gpuc`, up to the cursor. Bash splits words at "=": `--format`, `=`, `json`.
    """
    *before, typed = _joined(words or [""])
    found = _found(before, typed)
    last = "" if words[-1:] == ["="] else typed if words[-2:-1] != ["="] else words[-1]
    start = typed.removesuffix(last)  # bash replaces only the last word
    return Completion({word.removeprefix(start): text for word, text in found.words.items()}, found.paths)


def _joined(words: list[str]) -> list[str]:
    """Returns the words, with `--format=json` as one word where Bash has split it into `--format`, `=`, `json`."""
    joined: list[str] = []
    for word, previous in zip(words, ["", *words], strict=False):
        if joined and "=" in (word, previous):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _found(before: list[str], typed: str) -> Completion:
    """Returns the complete words that begin with the typed text, after the words before."""
    if not before:
        summaries = {name: command.summary for name, command in COMMANDS.items()}
        options = {f"--{name}": summaries[name] for name in ("help", "version")}
        return _fitting(options if typed.startswith("-") else summaries, typed)
    command, *before = before
    if command not in COMMANDS:
        return Completion()
    try:
        actions = Parser(declared(command)).arguments
    except UsageError:  # the package of the command is not installed
        return Completion()
    option, position = _state(actions, before)
    if option is not None:
        return _values(option, typed)
    if typed.startswith("-"):
        return _option(actions, typed, before)
    values = [action for action in actions if not action.option_strings]
    if position >= len(values) and values and values[-1].nargs in ("*", "+"):
        position = len(values) - 1
    return _values(values[position], typed) if position < len(values) else Completion()


def _state(actions: list[argparse.Action], before: list[str]) -> tuple[argparse.Action | None, int]:
    """Returns the option that needs a value now (else None), and the number of positional arguments so far."""
    with_value = {name: action for action in actions if action.nargs != 0 for name in action.option_strings}
    waiting, position = None, 0
    for word in before:
        if waiting is None and (word == "-" or not word.startswith("-")):
            position += 1
        waiting = with_value.get(word) if waiting is None else None
    return waiting, position


def _option(actions: list[argparse.Action], typed: str, before: list[str]) -> Completion:
    """Returns the options that can still be given; for `--option=VALUE`, the values of the option."""
    name, equals, value = typed.partition("=")
    named = [action for action in actions if equals and name in action.option_strings]
    if named:
        found = _values(named[0], value)
        return Completion({f"{name}={word}": text for word, text in found.words.items()}, found.paths)
    words: dict[str, str] = {}
    for action in actions:
        is_repeated = type(action).__name__ == "_AppendAction"
        if is_repeated or not set(action.option_strings) & set(before):
            first_sentence = re.split(r"; | \(", action.help or "", maxsplit=1)[0].strip()
            words |= dict.fromkeys(action.option_strings[-1:], first_sentence)
    return _fitting(words, typed)


def _values(action: argparse.Action, typed: str) -> Completion:
    """Returns the choices of an argument, or the paths that fit its metavar."""
    if isinstance(action.type, FormatAndFile):
        if "=" in typed:
            return Completion({}, FILES)
        return _fitting({f"{form}=": "" for form in action.type.formats}, typed)
    if action.choices is not None:
        return _fitting(dict.fromkeys(action.choices, ""), typed)
    parts = str(action.metavar or "").split("|")
    return Completion({}, next((_PATHS[part] for part in parts if part in _PATHS), ""))


def _fitting(words: dict[str, str], typed: str) -> Completion:
    return Completion({word: text for word, text in words.items() if word.startswith(typed)})
