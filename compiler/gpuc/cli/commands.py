"""The commands of gpuc, in the order of `gpuc --help`. The file commands.toml declares them.

The distribution gpuc-rehearsal has more commands, which are entry points of the group `gpuc.commands`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpuc.cli.command import Argument, Command
from gpuc.diagnostics.usage import UsageError
from gpuc.parts.folders import table_beside

Later = Callable[[], Iterable[Argument]]
"""A function that returns the arguments of a command."""
_USUAL_CODES = {"2": "the command line is wrong", "3": "gpuc itself failed"}


def _init_arguments() -> Iterator[Argument]:
    from gpuc.cli.init_settings import Settings, questions

    yield Argument("[FOLDER]", "the repository (default: .)", default=".")
    yield Argument("--minimal", "write a spec with one node pool, without tenants, queues and policies")
    defaults = Settings()
    for question in questions():
        default = getattr(defaults, question.field)
        text = f"{question.text}: {question.expected}" + f" (default: {default})" * bool(default)
        yield Argument(f"{question.option} {question.metavar}", text)


def _help_arguments() -> Iterator[Argument]:
    yield Argument("[COMMAND]", "a command of gpuc", tuple(COMMANDS))


def read_commands(package: str, table: dict[str, Any], later: dict[str, Later]) -> dict[str, Command]:
    """Returns the commands that a commands.toml declares, by name.

    Args:
        package: the Python package with the functions of the commands.
        table: the content of the file, without the table `shared`.
        later: functions that return the arguments of a command. They load modules that other commands do not need.
    """
    return {
        name: Command(
            name,
            row.get("summary", ""),
            f"{package}.{row['function']}" if "function" in row else "",
            later.get(name) or tuple(_arguments(row.get("arguments", {}))),
            tuple((comment, line) for line, comment in row.get("examples", {}).items()),
            _end(table[row.get("ends_like", name)]),
            row.get("usage"),
            row.get("extra", ""),
        )
        for name, row in table.items()
    }


def _arguments(rows: dict[str, Any]) -> Iterator[Argument]:
    for usage, row in rows.items():
        choices = row if isinstance(row, list) else []
        meaning = _SHARED[usage] if row is True or choices else row
        fields = {"help": meaning} if isinstance(meaning, str) else meaning
        yield Argument(usage, **{**fields, "choices": tuple(choices or fields.get("choices", ()))})


def _end(row: dict[str, Any]) -> str:
    """Returns the end of the help of a command: text, and the exit codes."""
    parts = [row.get("epilog", ""), row.get("after_codes", "")]
    if "codes" in row:
        codes = sorted({**_USUAL_CODES, **row["codes"]}.items())
        parts.insert(1, "exit codes:" + "".join(f"\n  {code}  {meaning}" for code, meaning in codes if meaning))
    return "\n\n".join(filter(None, parts))


_TABLE = table_beside(__file__)
_SHARED = _TABLE.pop("shared")
COMMANDS = read_commands("gpuc.cli", _TABLE, {"init": _init_arguments, "help": _help_arguments})
"""The commands by name. A command of an extra has only a name and a summary."""


def declared(name: str) -> Command:
    """Returns the complete declaration of a command, also of a command in another distribution.

    Raises:
        UsageError: when the distribution of the command is not installed, or has another version than gpuc.
    """
    command = COMMANDS[name]
    if not command.extra:
        return command
    from importlib.metadata import entry_points

    from gpuc import __version__

    found = next(iter(entry_points(group="gpuc.commands", name=name)), None)
    install = f"pip install 'gpuc[{command.extra}]'"
    if found is None:
        raise UsageError(f"{name} needs a package that is not installed: {install}")
    if found.dist is not None and found.dist.version != __version__:
        versions = f"{__version__}, and {found.dist.name} is {found.dist.version}"
        raise UsageError(f"the version of gpuc is {versions}; both must have the same version: {install}")
    record: Command = found.load()
    return record._replace(summary=command.summary)
