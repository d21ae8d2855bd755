"""Splits the arguments of a command into words and options."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NUMBER = re.compile(r"-\d+(?:\.\d+)?")


class OptionProblem(Exception):
    """An option that the command does not have, or that has too few or too many values."""


@dataclass
class Options:
    """The arguments of a command."""

    words: list[str] = field(default_factory=list)
    """Arguments that are not part of an option."""
    values: dict[str, list[str]] = field(default_factory=dict)
    """The values of each option, by its long name; a repeated option has the values of all its occurrences."""


def options(arguments: Sequence[str], arity: Mapping[str, int | None], short: Mapping[str, str]) -> Options:
    """Splits arguments.

    Args:
        arguments: the arguments after the command, for example ["nodes", "-o", "json", "--watch"].
        arity: number of values by long name; 0 also allows `--option=true`; None: one value or more.
        short: long names of options with one letter, for example {"-o": "--output"}.

    Raises:
        OptionProblem: if an option is unknown or has another number of values.
    """
    found = Options()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            found.words += rest
            break
        if not _is_option(argument):
            found.words.append(argument)
            continue
        name, texts = _split(argument, short, arity)
        if name not in arity:
            similar = difflib.get_close_matches(name, list(arity), 1)
            raise OptionProblem(f"unknown option {name}" + (f"; did you mean {similar[0]}?" if similar else ""))
        count = arity[name]
        while rest and (count is None or len(texts) < count) and not _is_option(rest[0]):
            texts.append(rest.pop(0))
        if count != 0 and not texts:
            raise OptionProblem(f"option {name} needs a value")
        if count == 0 and texts not in ([], ["true"], ["false"]):
            raise OptionProblem(f"option {name} takes no value, found {texts[0]}")
        found.values.setdefault(name, []).extend(texts)
    return found


def _split(argument: str, short: Mapping[str, str], arity: Mapping[str, int | None]) -> tuple[str, list[str]]:
    """The long name of an option, and its value if the same argument contains a value."""
    if argument.startswith("--"):
        name, sign, text = argument.partition("=")
        return name, [text] if sign else []
    letter, text = argument[:2], argument[2:]
    if letter not in short:
        raise OptionProblem(f"unknown option {letter}")
    if text and arity.get(short[letter]) == 0:
        raise OptionProblem(f"write the options of {argument} one by one")
    return short[letter], [text.removeprefix("=")] if text else []


def _is_option(argument: str) -> bool:
    return len(argument) > 1 and argument.startswith("-") and not _NUMBER.fullmatch(argument)
