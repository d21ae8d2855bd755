"""Declares the commands `gpuc rehearse` and `gpuc tools` from the rows of commands.toml.

The entry points of this package name these declarations. So gpuc can print the help without the modules that run the
commands.
"""

from collections.abc import Iterator

from gpuc.cli.command import Argument
from gpuc.cli.commands import read_commands
from gpuc.parts.folders import table_beside


def _tools_arguments() -> Iterator[Argument]:
    from gpuc_rehearsal.tools.selection import OTHERS

    for name, selection in OTHERS.items():
        text = f"instead of the control plane: {selection.purpose}"
        yield Argument(f"--{name}", text, dest="selection", const=name)
    yield Argument("--list", "build nothing; list the programs, versions and sizes", dest="is_list")
    yield Argument("--where", "build nothing; print the folder of the programs")


_TABLE = table_beside(__file__)
REHEARSE, TOOLS = read_commands("gpuc_rehearsal.cli", _TABLE, {"tools": _tools_arguments}).values()
