"""`gpuc tools`: builds the programs of `gpuc rehearse`, lists them, or prints their folder."""

from __future__ import annotations

import signal

from gpuc.cli.arguments import parser_of
from gpuc.diagnostics.report.console import write_message, write_stderr, write_stdout
from gpuc.tools.build import build_programs, state_of
from gpuc.tools.selection import OTHERS, REHEARSAL, BuildError, Selection


def run_tools(arguments: list[str]) -> int:
    """Runs `gpuc tools` and returns the exit code: 1 if a program cannot be built.

    Raises:
        UsageError: for wrong arguments.
        KeyboardInterrupt: when the user stops the build.
    """
    options = parser_of("tools").parse(arguments)
    selection = OTHERS.get(options.selection, REHEARSAL)
    if options.where:
        write_stdout(f"{selection.home()}\n")
        return 0
    try:
        if options.list:
            _list(selection)
        else:
            _build(selection)
    except BuildError as error:
        *details, reason = str(error).splitlines()
        write_stderr("".join(f"{line}\n" for line in details))
        write_message(reason)
        return 1
    return 0


def _list(selection: Selection) -> None:
    target = selection.home()
    for program in selection.programs:
        write_stdout(f"{program.name:24} {program.version():10} {state_of(program, target)}\n")


def _build(selection: Selection) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        build_programs(selection)
    except KeyboardInterrupt:
        write_stdout("\nstopped; the next run continues with the missing programs\n")
        raise
    except OSError as error:
        raise BuildError(f"the programs cannot be written: {error}") from None
