"""The command line of gpuc: parses the arguments, runs the command and prints the report.

Exit codes: 0 without errors, 1 with errors, 2 for a wrong command line, 3 if gpuc itself failed, 130 if interrupted.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gpuc.cli.command import names_only
from gpuc.cli.commands import COMMANDS, declared
from gpuc.cli.overview import overview, run_help
from gpuc.diagnostics.output_error import OutputError
from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.report.output import report_files
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError

_OPTIONS = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}
"""The options that are another name of a command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code. Prints an error in one line to stderr."""
    try:
        return run_command(list(sys.argv[1:] if argv is None else argv))
    except UsageError as error:
        write_message(str(error))
        return 2
    except OutputError as error:
        write_message(str(error))
        return 3
    except KeyboardInterrupt:
        write_message("interrupted")
        return 130
    except Exception as error:
        if os.environ.get("GPUC_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        write_message(_failure_message(error))
        return 3


def run_command(arguments: list[str]) -> int:
    """Runs the command that the first argument names, and returns the exit code.

    Raises:
        UsageError: for a wrong command line.
    """
    if not arguments:
        write_stdout(overview())
        return 2
    name, *words = arguments
    name = _OPTIONS.get(name, name)
    if name not in COMMANDS:
        hint = did_you_mean(name, [*COMMANDS, *(option for option in _OPTIONS if option.startswith("--"))])
        raise UsageError(f"no command {name}{hint or '; the commands are ' + ', '.join(COMMANDS)}")
    if name == "completion" and "--" in words[:2]:
        from gpuc.cli.completion import print_words

        return print_words(words[words.index("--") + 1 :])
    if "-h" in words or "--help" in words:
        run_help(command=name)
        return 0
    command = declared(name)
    options = names_only(command, words)
    if options is None:
        from gpuc.cli.parser import Parser

        options = Parser(command).parse(words)
    with report_files(options.pop("output", ())) as outputs:
        if outputs:
            options["outputs"] = outputs
        return command.load()(**options) or 0


def _failure_message(error: Exception) -> str:
    """Returns the message for an exception that no command handles."""
    if isinstance(error, OSError) and error.strerror:
        file = f": {error.filename}" if error.filename else ""
        return f"cannot continue: {error.strerror}{file}"
    from gpuc.diagnostics.finding import DeclarationError

    if isinstance(error, DeclarationError):
        return str(error)
    from traceback import extract_tb

    package = str(Path(__file__).parents[1])
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename.startswith(package)]
    position = f" at {frames[-1].filename.removeprefix(package)[1:]}:{frames[-1].lineno}" if frames else ""
    return (
        f"internal error{position}: {type(error).__name__}: {error}; this is a bug of gpuc, not an error in the specs: "
        "run the command again with GPUC_DEBUG=1 and report its output"
    )


def run() -> None:
    """The entry point of the program: runs a command, and exits the process without the cleanup of Python."""
    import gc

    # A run is short and creates few reference cycles; one collection of its values takes a tenth of `gpuc check`.
    gc.set_threshold(1_000_000, 50, 50)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
