"""The commands of gpuc, in the order of `gpuc --help`: the rows of commands.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuc.cli.command import Argument, Command

_USUAL_CODES = {"2": "the command line is wrong", "3": "gpuc itself failed"}


def _init_arguments() -> Iterator[Argument]:
    from gpuc.cli.init_settings import Settings, questions

    yield Argument("[FOLDER]", "the repository (default: .)", default=".")
    yield Argument("--minimal", "write a spec with one node pool, without tenants, queues and policies")
    for question in questions():
        default = getattr(Settings, question.field)
        text = f"{question.text}: {question.expected}" + f" (default: {default})" * bool(default)
        yield Argument(f"{question.option} {question.metavar}", text)


def _tools_arguments() -> Iterator[Argument]:
    from gpuc.tools.selection import OTHERS

    for name, selection in OTHERS.items():
        text = f"instead of the control plane: {selection.purpose}"
        yield Argument(f"--{name}", text, dest="selection", const=name)
    yield Argument("--list", "build nothing; list the programs, versions and sizes", dest="is_list")
    yield Argument("--where", "build nothing; print the folder of the programs")


def _help_arguments() -> Iterator[Argument]:
    yield Argument("[COMMAND]", "a command of gpuc", tuple(COMMANDS))


_LATER = {"init": _init_arguments, "tools": _tools_arguments, "help": _help_arguments}
"""Functions that return the arguments of a command. They load modules that other commands do not need."""


def _commands() -> dict[str, Command]:
    table = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    shared = table.pop("shared")
    return {
        name: Command(
            name,
            row["summary"],
            row["function"],
            _LATER.get(name) or tuple(_arguments(row.get("arguments", {}), shared)),
            tuple((comment, line) for line, comment in row["examples"].items()),
            _end(table[row.get("ends_like", name)]),
            row.get("usage"),
        )
        for name, row in table.items()
    }


def _arguments(rows: dict[str, Any], shared: dict[str, Any]) -> Iterator[Argument]:
    for usage, row in rows.items():
        choices = row if isinstance(row, list) else []
        meaning = shared[usage] if row is True or choices else row
        fields = {"help": meaning} if isinstance(meaning, str) else meaning
        yield Argument(usage, **{**fields, "choices": tuple(choices or fields.get("choices", ()))})


def _end(row: dict[str, Any]) -> str:
    """Returns the end of the help of a command: text, and the exit codes."""
    parts = [row.get("epilog", ""), row.get("after_codes", "")]
    if "codes" in row:
        codes = sorted({**_USUAL_CODES, **row["codes"]}.items())
        parts.insert(1, "exit codes:" + "".join(f"\n  {code}  {meaning}" for code, meaning in codes if meaning))
    return "\n\n".join(filter(None, parts))


COMMANDS = _commands()
"""The commands by name."""
