"""The declaration of a command: name, arguments and function. gpuc imports the function only when the command runs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple


class Argument(NamedTuple):
    """An option or a positional argument of a command."""

    usage: str
    """Options as "-q, --quiet" and "--into DIR", others as "PATH" and "[PATH]". Dots at the end: may be repeated.

    Small letters without `dest` name an argument whose usage shows the choices.
    """
    help: str
    """The text of the help; empty for an argument that the help does not show."""
    choices: Sequence[str] = ()
    """The allowed values; the formats of a report."""
    type: Literal["text", "number", "folder", "new folder", "path", "report"] = "text"
    """How to read the value. A new folder may be missing; a report is FORMAT=FILE."""
    dest: str = ""
    """The parameter of the function; empty for the name of the option, `spec` for SPEC, and `specs` for SPEC..."""
    default: str | None = None
    """The value of a positional argument that is missing."""
    const: str = ""
    """The value of `dest` when the user gives this option, which takes no value. Such options exclude each other."""


class Command(NamedTuple):
    """A command of gpuc, for example `gpuc compile`."""

    name: str
    summary: str
    function: str
    """The module and the function. The function gets the arguments by name and returns the exit code, or None for 0.
    For --output, the function gets `outputs`, the files that were opened before."""
    arguments: Sequence[Argument] | Callable[[], Iterable[Argument]] = ()
    examples: Sequence[tuple[str, str]] = ()
    """Pairs of a comment and a command line. A test parses each command line."""
    epilog: str = ""
    """The end of the help: exit codes and explanations."""
    usage: str | None = None
    """The line of the help with the usage; None to generate it."""
    extra: str = ""
    """The extra of the package gpuc with the command. Then this record has only the name and the summary."""

    def load(self) -> Callable[..., int | None]:
        """Imports the module of the command, and returns the function that runs the command."""
        from importlib import import_module

        module, _, name = self.function.partition(":")
        function: Callable[..., int | None] = getattr(import_module(module), name)
        return function


def names_only(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """Returns the arguments if the command line has only names of specs; None for any other command line.

    The parser would return the same arguments, but loading argparse takes longer than compiling a spec.
    """
    arguments = command.arguments
    takes_names = not callable(arguments) and any(argument.usage == "[SPEC...]" for argument in arguments)
    return {"specs": list(words)} if takes_names and not any(word.startswith("-") for word in words) else None


def choice_of(choices: Iterable[object]) -> str:
    """Returns the choices as text, for example "text, json or markdown"."""
    *first, last = map(str, choices)
    return " or ".join(part for part in (", ".join(first), last) if part)
