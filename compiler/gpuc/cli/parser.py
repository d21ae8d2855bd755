"""Parses the arguments of a command. The help has examples, and messages about mistakes name the allowed values."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from gpuc.cli.command import Argument, Command, choice_of
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError

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
_NARGS = {(False, False): None, (True, False): "?", (False, True): "+", (True, True): "*"}
"""The nargs of a positional argument, by whether it is optional and whether it may be repeated."""


class Parser(argparse.ArgumentParser):
    """The argument parser of a command. For wrong arguments, it raises UsageError instead of exiting the process."""

    def __init__(self, command: Command) -> None:
        examples = [f"  # {comment}\n  {line}" for comment, line in command.examples]
        super().__init__(
            prog=f"gpuc {command.name}",
            usage=command.usage,
            description=command.summary,
            epilog="\n\n".join(part for part in ("\n".join(["examples:", *examples]), command.epilog) if part),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
        )
        arguments = tuple(command.arguments() if callable(command.arguments) else command.arguments)
        exclusive = self.add_mutually_exclusive_group() if any(argument.const for argument in arguments) else self
        for argument in arguments:
            names, keywords = _keywords(argument)
            (exclusive if argument.const else self).add_argument(*names, **keywords)

    @property
    def arguments(self) -> list[argparse.Action]:
        """The options and positional arguments in the help, in the order of the help."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    def parse(self, arguments: Sequence[str]) -> dict[str, Any]:
        """Parses options and positional arguments, in any order, and returns the values of the given arguments.

        Raises:
            UsageError: when an argument is unknown, wrong or missing.
        """
        parsed, unknown = self.parse_known_intermixed_args(list(arguments))
        if unknown:
            raise UsageError(self._unknown(unknown[0]))
        return vars(parsed)

    def error(self, message: str) -> NoReturn:
        if message.startswith(_REQUIRED):
            names = message.removeprefix(_REQUIRED).split(", ")
            choices = {action.dest: f" ({choice_of(action.choices)})" for action in self.arguments if action.choices}
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
        message = f"{name} is {value}{hint}; expected {choice_of(action.choices)}"
        raise argparse.ArgumentError(None, message)


class FormatAndFile:
    """Parses an argument FORMAT=FILE, such as json=report.json.

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


def _keywords(argument: Argument) -> tuple[list[str], dict[str, Any]]:
    """Returns the names and the keywords with which argparse declares an argument."""
    words = argument.usage.split()
    names = [word.rstrip(",") for word in words if word.startswith("-")]
    value = "" if words[-1] in names else words[-1].strip("[]")
    metavar = re.sub(r"(?<=\w)\.\.\.$", "", value)
    keywords: dict[str, Any] = {"help": argument.help or argparse.SUPPRESS}
    dest = {"dest": argument.dest} if argument.dest else {}
    if argument.const:
        return names, {**keywords, **dest, "action": "store_const", "const": argument.const}
    if names and not value and not argument.choices:
        return names, {**keywords, "action": "store_true", **dest}
    keywords["type"] = _type(argument)
    if argument.type != "report":
        keywords["choices"] = argument.choices or None
    if metavar and (argument.dest or not metavar.islower()):
        keywords["metavar"] = metavar
    if names:
        keywords |= {"action": "append"} if metavar != value else {}
        return names, {**keywords, **dest}
    nargs = _NARGS[argument.usage.startswith("["), metavar != value]
    name = argument.dest or metavar.partition("|")[0].lower() + "s" * (metavar != value)
    return [name], {**keywords, "nargs": nargs, "default": argument.default}


def _type(argument: Argument) -> Any:
    """Returns the function that reads the value of an argument."""
    if argument.type == "report":
        return FormatAndFile(argument.choices)
    if argument.type == "new folder":  # a folder, or nothing yet
        return lambda path: _folder(path) if Path(path).exists() else Path(path).absolute()
    return {"text": str, "number": int, "path": Path, "folder": _folder}[argument.type]


def _folder(argument: str) -> Path:
    """Returns the absolute path of a folder.

    Raises:
        argparse.ArgumentTypeError: when the path is not a folder.
    """
    if not Path(argument).is_dir():
        raise argparse.ArgumentTypeError(f"{argument} is not a folder")
    return Path(argument).absolute()
