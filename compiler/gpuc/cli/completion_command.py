"""`gpuc completion`: prints the completion script of a shell, and answers the scripts.

A script calls `gpuc completion SHELL -- WORD...` with the words of the command line after `gpuc`, up to the cursor.
gpuc prints a line for each word that fits, with the description after a tab. The line `:files` or `:folders` asks the
script to add paths.
"""

from __future__ import annotations

from pathlib import Path

from gpuc.diagnostics.report.console import write_stdout

_SCRIPTS = Path(__file__).parent / "completion_scripts"


def run_completion(arguments: list[str]) -> int:
    """Runs `gpuc completion` and returns the exit code.

    Raises:
        UsageError: for wrong arguments.
    """
    if "--" in arguments[:2]:
        from gpuc.cli.completion import complete

        completion = complete(arguments[arguments.index("--") + 1 :])
        lines = [f"{word}\t{description}" for word, description in completion.words.items()]
        write_stdout("".join(f"{line}\n" for line in (*lines, completion.paths) if line))
        return 0
    from gpuc.cli.arguments import parser_of

    parser = parser_of("completion")
    if {"-h", "--help"} & {*arguments}:
        write_stdout(parser.format_help())
    else:
        write_stdout((_SCRIPTS / f"gpuc.{parser.parse(arguments).shell}").read_text("utf-8"))
    return 0
