"""What a command declares about itself, without the modules that run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple


class Argument(NamedTuple):
    """An option or a positional argument. The function of the command has the default of an option."""

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
    """The parameter of the function; empty for the name of the option."""
    default: str | None = None
    """The value of a positional argument that is missing."""
    const: str = ""
    """The value that an option without a value gives. Such options exclude each other."""


class Command(NamedTuple):
    """A command of gpuc."""

    name: str
    summary: str
    function: str
    """The module in gpuc.cli and the function. The function gets the arguments by name and returns the exit code, or
    None for 0. For --output, the function gets `outputs`, the files that were opened before."""
    arguments: Sequence[Argument] | Callable[[], Iterable[Argument]] = ()
    examples: Sequence[tuple[str, str]] = ()
    """Pairs of a comment and a command line. A test parses each command line."""
    epilog: str = ""
    """The end of the help: exit codes and explanations."""
    usage: str | None = None
    """The line of the help with the usage; None to generate it."""

    def load(self) -> Callable[..., int | None]:
        """Returns the function of the command, after the import of its module."""
        from importlib import import_module

        module, _, name = self.function.partition(":")
        function: Callable[..., int | None] = getattr(import_module(f"gpuc.cli.{module}"), name)
        return function


SPECS = Argument("[SPEC...]", "a spec file or the name of a cluster (default: all clusters in specs/)", dest="specs")


def form(*formats: str, subject: str = "report") -> Argument:
    """Returns --format. The first format is the default."""
    return Argument("--format", f"the format of the {subject} (default: {formats[0]})", formats, dest="form")


def formats(*names: str) -> tuple[Argument, Argument]:
    """Returns --format and --output. The first format is the default."""
    output = Argument("--output FORMAT=FILE...", "also write a report to a file; may be repeated", names, "report")
    return form(*names), output


def exit_codes(
    good: str, bad: str, wrong: str = "the command line is wrong", failed: str = "gpuc itself failed"
) -> str:
    """Returns the part of the help with the meaning of the exit codes 0 to 3. Without `failed`, 3 is missing."""
    return f"exit codes:\n  0  {good}\n  1  {bad}\n  2  {wrong}" + f"\n  3  {failed}" * bool(failed)


def choice_of(choices: Iterable[object]) -> str:
    """Returns "text, json or markdown"."""
    *first, last = map(str, choices)
    return " or ".join(part for part in (", ".join(first), last) if part)
