"""The argument parser of a command: help with examples, and messages that name the allowed values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gpuc.cli.examples import EXAMPLES
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import SUMMARIES, UsageError

_REQUIRED = "the following arguments are required: "
"""The start of the message of argparse about missing arguments."""
_MESSAGES = (
    (r"argument (.+): expected one argument", r"\1 requires a value"),
    (r"argument (.+): invalid int value: '(.*)'", r"\1 is \2; expected a whole number"),
    (r"argument (.+): not allowed with argument (.+)", r"\1 and \2 exclude each other"),
    (r"argument (.+): ignored explicit argument '(.*)'", r"\1 takes no value, but the value is \2"),
    (r"argument (.+)", r"\1"),
)
"""Messages of argparse as regular expressions, and the messages of gpuc. The first match applies."""


class Parser(argparse.ArgumentParser):
    """The argument parser of a command. For wrong arguments, the parser raises UsageError and does not exit."""

    def __init__(self, command: str, epilog: str = "", usage: str | None = None) -> None:
        super().__init__(
            prog=f"gpuc {command}",
            usage=usage,
            description=SUMMARIES[command],
            epilog="\n\n".join(part for part in (_examples(command), epilog) if part),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    @property
    def arguments(self) -> list[argparse.Action]:
        """The options and positional arguments that the help shows, in its order."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    def parse(self, arguments: Sequence[str], namespace: Any = None) -> Any:
        """Parses options and positional arguments, in any order, and returns the namespace with their values.

        Args:
            namespace: the object that gets the values; None for a new object.

        Raises:
            UsageError: when an argument is unknown, wrong or missing.
        """
        parsed, unknown = self.parse_known_intermixed_args(list(arguments), namespace)
        if unknown:
            raise UsageError(self._unknown(unknown[0]))
        return parsed

    def error(self, message: str) -> NoReturn:
        if message.startswith(_REQUIRED):
            names = message.removeprefix(_REQUIRED).split(", ")
            choices = {action.dest: f" ({_or(action.choices)})" for action in self.arguments if action.choices}
            message = "missing: " + ", ".join(name + choices.get(name, "") for name in names)
        for pattern, replacement in _MESSAGES:
            if match := re.fullmatch(pattern, message, re.DOTALL):
                message = match.expand(replacement)
                break
        raise UsageError(f"{message}; `{self.prog} --help` shows the usage")

    def _unknown(self, argument: str) -> str:
        known = [name for action in self.arguments for name in action.option_strings]
        message = f"{self.prog} has no argument {argument}"
        options = ", ".join(name for name in known if name.startswith("--") and name != "--help")
        if suggestion := did_you_mean(argument, known):
            return message + suggestion
        return f"{message}; its options are {options}" if argument.startswith("-") and options else message

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Checks the value of an argument with choices. argparse calls this method.

        Raises:
            argparse.ArgumentError: when the value is none of the choices.
        """
        if action.choices is None or value in action.choices:
            return
        name = "/".join(action.option_strings) or "the argument"
        hint = did_you_mean(str(value), map(str, action.choices))
        message = f"{name} is {value}{hint}; expected {_or(action.choices)}"
        raise argparse.ArgumentError(None, message)


class FormatAndFile:
    """The type of an argument FORMAT=FILE.

    Args:
        formats: the allowed formats.
    """

    def __init__(self, formats: Sequence[str]) -> None:
        self.formats = formats

    def __call__(self, argument: str) -> tuple[str, str]:
        """Parses FORMAT=FILE and returns the format and the file.

        Raises:
            argparse.ArgumentTypeError: when the format is unknown or the file is missing.
        """
        form, _, file = argument.partition("=")
        if form not in self.formats or not file:
            raise argparse.ArgumentTypeError(
                f"{argument} is not FORMAT=FILE; the formats are {', '.join(self.formats)}"
            )
        return form, file


def add_formats(parser: Parser, formats: Sequence[str]) -> None:
    """Adds --format and --output. The first format is the default."""
    parser.add_argument("--format", choices=formats, help=f"the format of the report (default: {formats[0]})")
    parser.add_argument(
        "--output",
        action="append",
        type=FormatAndFile(formats),
        metavar="FORMAT=FILE",
        help="also write a report to a file; may be repeated",
    )


def existing_folder(argument: str) -> Path:
    """Returns the absolute path of a folder.

    Raises:
        argparse.ArgumentTypeError: when the path is not a folder.
    """
    path = Path(argument)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{argument} is not a folder")
    return path.absolute()


def new_or_existing_folder(argument: str) -> Path:
    """Returns the absolute path of a folder, or of nothing yet.

    Raises:
        argparse.ArgumentTypeError: when the path is a file.
    """
    path = Path(argument)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{argument} is not a folder")
    return path.absolute()


def _or(choices: Iterable[object]) -> str:
    """Returns "text, json or markdown"."""
    *first, last = map(str, choices)
    return " or ".join(part for part in (", ".join(first), last) if part)


def _examples(command: str) -> str:
    lines = [f"  # {comment}\n  {line}" for comment, line in EXAMPLES[command]]
    return "\n".join(["examples:", *lines])
