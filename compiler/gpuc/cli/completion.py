"""The words that can follow on a command line, from the parsers, without the modules of the spec and the pipeline."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gpuc.cli.arguments import parser_of
from gpuc.cli.parser import FormatAndFile, Parser
from gpuc.diagnostics.usage import SUMMARIES, UsageError

FILES, FOLDERS = ":files", ":folders"
"""The lines that ask a shell for paths."""
_PACKAGE = Path(__file__).parents[1]
_RULE = re.compile(r'"([A-Z]{2,6}\d{3})"')
"""The id of a rule in the source of gpuc."""


class Completion(NamedTuple):
    """The words that fit at the cursor."""

    words: dict[str, str] = {}
    """The words with their descriptions."""
    paths: str = ""
    """FILES or FOLDERS if paths fit too."""


def complete(words: list[str]) -> Completion:
    """Returns the words that fit for the last word, which may be empty.

    Args:
        words: the words after `gpuc`, up to the cursor. Bash splits words at "=": `--format`, `=`, `json`.
    """
    *before, typed = words or [""]
    if not before:
        options = {"--help": SUMMARIES["help"], "--version": SUMMARIES["version"]}
        return _fitting(options if typed.startswith("-") else SUMMARIES, typed)
    command, *before = before
    if command not in SUMMARIES:
        return Completion()
    parser = parser_of(command)
    typed = "" if typed == "=" else typed
    option, position = _state(parser, [word for word in before if word != "="])
    if option is not None:
        return _values(option, typed, _format(before))
    if typed.startswith("-"):
        return _option(parser, typed, before)
    return _positional(parser, typed, position, before)


def _option(parser: Parser, typed: str, before: list[str]) -> Completion:
    """Returns the options that can still be given; for `--option=VALUE`, the values of the option."""
    name, equals, value = typed.partition("=")
    action = _options(parser).get(name)
    if not equals or action is None:
        return _fitting(_option_words(parser, before), typed)
    found = _values(action, value, "")
    return Completion({f"{name}={word}": text for word, text in found.words.items()}, found.paths)


def _positional(parser: Parser, typed: str, position: int, before: list[str]) -> Completion:
    actions = [action for action in parser.arguments if not action.option_strings]
    if position < len(actions):
        return _values(actions[position], typed, " ".join(before))
    if actions and actions[-1].nargs in ("*", "+"):
        return _values(actions[-1], typed, " ".join(before))
    return Completion()


def _options(parser: Parser) -> dict[str, argparse.Action]:
    return {name: action for action in parser.arguments for name in action.option_strings}


def _state(parser: Parser, before: list[str]) -> tuple[argparse.Action | None, int]:
    """Returns the option whose value comes next, or None, and the number of positional arguments so far."""
    options, waiting, position = _options(parser), None, 0
    for word in before:
        if waiting is not None:
            is_format = isinstance(waiting.type, FormatAndFile) and word in waiting.type.formats
            waiting = waiting if is_format else None  # bash splits FORMAT=FILE into two words
        elif word.startswith("-") and word != "-":
            action = options.get(word)
            waiting = action if action is not None and action.nargs != 0 else None
        else:
            position += 1
    return waiting, position


def _format(before: list[str]) -> str:
    """Returns "json=" after the words `json`, `=`, in which bash splits the value of --output; otherwise nothing."""
    return f"{before[-2]}=" if before[-1:] == ["="] and not before[-2].startswith("-") else ""


def _option_words(parser: Parser, before: list[str]) -> dict[str, str]:
    """Returns the long options that can still be given, and the short options without a long form."""
    words: dict[str, str] = {}
    for action in parser.arguments:
        is_repeated = type(action).__name__ == "_AppendAction"
        if is_repeated or not set(action.option_strings) & set(before):
            words |= dict.fromkeys(action.option_strings[-1:], _first_sentence(action.help or ""))
    return words


def _first_sentence(text: str) -> str:
    return re.split(r"; | \(", text, maxsplit=1)[0].strip()


def _fitting(words: Mapping[str, str] | Iterable[str], typed: str, paths: str = "") -> Completion:
    described = words if isinstance(words, Mapping) else dict.fromkeys(words, "")
    return Completion(
        {word: text for word, text in described.items() if word.startswith((typed, typed.upper()))}, paths
    )


def _values(action: argparse.Action, typed: str, context: str) -> Completion:
    """Returns the values of an argument: its choices, or the words of its metavar.

    Args:
        context: the words before the value.
    """
    if isinstance(action.type, FormatAndFile):
        if "=" in typed or context.endswith("="):
            return Completion({}, FILES)
        return _fitting((f"{form}=" for form in action.type.formats), typed)
    if action.choices is not None:
        known = {str(choice): SUMMARIES.get(str(choice), "") for choice in action.choices}
        return _fitting(known, typed)
    if action.metavar == "WORD":
        return _catalog_words(typed, context)
    names: dict[str, str] = {}
    paths = ""
    for part in str(action.metavar or "").split("|"):
        paths = paths or _PATHS.get(part, "")
        if part in _NAMES:
            names |= dict.fromkeys(_NAMES[part](), "")
    found = _fitting(names, typed, paths)
    if action.metavar == "SPEC" and found.words:
        return Completion(found.words)  # the name of a cluster is shorter than the path of its spec
    return found


def _catalog_words(typed: str, context: str) -> Completion:
    if context == "import":
        return Completion({}, FILES)
    if context:
        return Completion()
    from gpuc.cli.catalog_entries import SUBJECTS

    words = {**SUBJECTS, "show": "print one entry", "import": "print rows for specs/catalog/"}
    return _fitting(words, typed)


def _clusters() -> list[str]:
    """Returns the names of the clusters of the fleet that contains the current directory."""
    from gpuc.cli.specs import cluster_names, find_root

    try:
        return cluster_names(find_root(Path.cwd()))
    except (UsageError, OSError):
        return []


def _rules() -> list[str]:
    """Returns the ids of all rules, from the source of gpuc; an import of all modules would take seconds."""
    ids: set[str] = set()
    for folder, _, files in os.walk(_PACKAGE):
        for file in files:
            if file.endswith(".py"):
                ids.update(_RULE.findall(Path(folder, file).read_text("utf-8")))
    return sorted(ids)


def _rules_and_fields() -> list[str]:
    """Returns the ids of all rules and the paths of all fields of the spec, without the names of the user."""
    fields: list[str] = []
    with suppress(OSError):
        import json

        fields = [
            path.replace(".*", "").replace("[]", "")
            for path in json.loads((_PACKAGE / "spec/effects.json").read_text("utf-8"))
        ]
    return [*fields, *_rules()]


def _engines() -> tuple[str, ...]:
    from gpuc.cli.init_settings import ENGINES

    return ENGINES


def _places() -> tuple[str, ...]:
    from gpuc.cli.init_settings import HUB, OWN_ARGO_CD

    return (OWN_ARGO_CD, HUB)


def _charts() -> list[str]:
    return sorted(file.stem for file in (_PACKAGE / "catalog/schemas/charts").glob("*.json"))


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "SPEC": _clusters,
    "SUBJECT": _rules_and_fields,
    "ENGINE": _engines,
    "PLACE": _places,
    "NAME=VERSION": _charts,
}
"""The functions that return the values, by part of the metavar."""
_PATHS = {"SPEC": FILES, "PATH": FILES, "FILE": FILES, "DIR": FOLDERS, "FOLDER": FOLDERS}
"""The paths that fit, by part of the metavar. The first part decides: files include folders."""
