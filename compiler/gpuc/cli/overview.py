"""The commands `gpuc help` and `gpuc version`."""

from gpuc import __version__
from gpuc.cli.commands import COMMANDS, declared
from gpuc.diagnostics.report.console import write_stdout


def run_help(*, command: str | None = None) -> None:
    """Prints all commands, or the help of one command."""
    if command is None:
        write_stdout(overview())
        return
    from gpuc.cli.parser import Parser

    write_stdout(Parser(declared(command)).format_help())


def run_version() -> None:
    """Prints the version of gpuc."""
    write_stdout(f"gpuc {__version__}\n")


def overview() -> str:
    """Returns the text of `gpuc help`: all commands with their summaries."""
    commands = "\n".join(f"  {name:<13}  {command.summary}" for name, command in COMMANDS.items())
    return (
        "usage: gpuc COMMAND [ARGUMENT...]\n\n"
        "gpuc compiles one spec per GPU cluster to the configuration of its nodes, Kueue, the NVIDIA GPU Operator,\n"
        "Gatekeeper, Prometheus and Argo CD.\n\n"
        f"commands:\n{commands}\n\n"
        "`gpuc COMMAND --help` and `gpuc help COMMAND` show the arguments and examples of a command.\n"
        "A new fleet: `gpuc init FOLDER`, then `gpuc compile`. Completion in the shell: `gpuc completion --help`.\n"
    )
