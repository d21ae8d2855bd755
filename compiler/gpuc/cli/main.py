"""The command line of gpuc: parses the arguments, runs the command and prints the report.

Exit codes: 0 without errors, 1 with errors, 2 for a wrong command line, 3 if gpuc itself failed, 130 if interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from gpuc.diagnostics.output_error import REPORT_THIS, OutputError
from gpuc.diagnostics.report.console import write_message, write_stderr, write_stdout
from gpuc.diagnostics.report.output import ReportFile, report_files
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import SUMMARIES, UsageError

if TYPE_CHECKING:
    from gpuc.cli.options import Options
    from gpuc.pipeline.pipeline import Outcome


RUNNERS = {
    "plan": ("cli.plan_command", "run_plan"),
    "diff": ("cli.plan_command", "run_diff"),
    "specs": ("cli.specs_command", "run_specs"),
    "lint": ("cli.lint_command", "run_lint"),
    "trace": ("cli.trace_command", "run_trace"),
    "isolation": ("cli.isolation_command", "run_isolation"),
    "prerequisites": ("cli.prerequisites_command", "run_prerequisites"),
    "crds": ("cli.crds_command", "run_crds"),
    "rehearse": ("cli.rehearse_command", "run_rehearsal"),
    "catalog": ("cli.catalog_command", "run_catalog"),
    "init": ("cli.init_command", "run_init"),
    "tools": ("cli.tools_command", "run_tools"),
    "completion": ("cli.completion_command", "run_completion"),
}
"""The module and function of each command that is not implemented in this module."""

_OPTIONS = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}
"""The options that are another name of a command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code. An error is reported in one line on stderr."""
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
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


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        write_stdout(_overview())
        return 2
    command, rest = _OPTIONS.get(arguments[0], arguments[0]), arguments[1:]
    if command not in SUMMARIES:
        raise UsageError(_no_command(command))
    if command != "completion" and ("-h" in rest or "--help" in rest):
        from gpuc.cli.arguments import parser_of

        write_stdout(parser_of(command).format_help())
        return 0
    if command in {"compile", "check"}:
        return _compile_or_check(command, rest)
    if command in RUNNERS:
        return _runner(command)(rest)
    {"schema": _schema, "explain": _explain, "help": _help, "version": _version}[command](rest)
    return 0


def _runner(command: str) -> Callable[[list[str]], int]:
    module, name = RUNNERS[command]
    run: Callable[[list[str]], int] = getattr(import_module(f"gpuc.{module}"), name)
    return run


def _no_command(command: str) -> str:
    """Returns the message about a command that gpuc does not have."""
    hint = did_you_mean(command, [*SUMMARIES, *(name for name in _OPTIONS if name.startswith("--"))])
    return f"no command {command}{hint or '; the commands are ' + ', '.join(SUMMARIES)}"


def _overview() -> str:
    commands = "\n".join(f"  {name:<13}  {summary}" for name, summary in SUMMARIES.items())
    return (
        "usage: gpuc COMMAND [ARGUMENT...]\n\n"
        "gpuc compiles one spec per GPU cluster to the configuration of Karpenter, Kueue, the NVIDIA GPU Operator,\n"
        "Gatekeeper, Prometheus and Argo CD.\n\n"
        f"commands:\n{commands}\n\n"
        "`gpuc COMMAND --help` and `gpuc help COMMAND` show the arguments and examples of a command.\n"
        "A new fleet: `gpuc init FOLDER`, then `gpuc compile`. Completion in the shell: `gpuc completion --help`.\n"
    )


def _compile_or_check(command: str, arguments: list[str]) -> int:
    """Runs `gpuc compile` or `gpuc check` and returns the exit code."""
    started = perf_counter()
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.options import Options
    from gpuc.cli.specs import find_root, select

    options: Options = parser_of(command).parse(arguments, Options())
    root = find_root(Path.cwd())
    files = select(root, Path.cwd(), options.specs)
    with report_files(options.output) as outputs:
        outcome = _outcome(command, root, files, options)
        _report(outcome, root, options, outputs, perf_counter() - started)
    if outcome.failures:
        return 3
    failing = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in failing for finding in outcome.findings))


def _outcome(command: str, root: Path, files: list[str] | None, options: Options) -> Outcome:
    from gpuc.diagnostics.report.progress import Progress
    from gpuc.pipeline import pipeline

    into: Path = options.into or root
    progress = Progress(None if options.quiet else sys.stderr)
    try:
        if command == "compile":
            _create_folder(into)
            return pipeline.compile_specs(root, files, into, progress)
        return pipeline.check_specs(root, files, into, options.fresh, progress)
    finally:
        progress.close()


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None


def _report(outcome: Outcome, root: Path, options: Options, outputs: list[ReportFile], seconds: float) -> None:
    from dataclasses import replace

    from gpuc.cli.specs import repository_prefix
    from gpuc.diagnostics.report import render
    from gpuc.diagnostics.report.result import Report
    from gpuc.diagnostics.report.terminal import is_terminal, style_of

    report = Report(
        findings=outcome.findings,
        failures=outcome.failures,
        clusters=outcome.clusters,
        written=outcome.written,
        removed=outcome.removed,
        unchanged=outcome.unchanged,
        changes=outcome.changes,
        lines=outcome.lines,
        repository_prefix=repository_prefix(root),
    )
    for output in outputs:
        output.write(render(output.format, report))
    if options.quiet and options.format == "text":
        report = replace(report, quiet=True)
    if is_terminal(sys.stdout):
        report = replace(report, seconds=seconds)
    if not report.failures:
        write_stdout(render(options.format, report, style_of(sys.stdout, os.environ)))
    elif options.format == "text":
        write_stderr(render("text", report, style_of(sys.stderr, os.environ)))
    else:
        write_stdout(render(options.format, report))
        write_message(f"{REPORT_THIS}: {len(report.failures)} errors in the output; no file was written")


def _schema(arguments: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    of = parser_of("schema").parse(arguments).of
    from gpuc.cli.init import schema_text

    write_stdout(schema_text(of))


def _explain(arguments: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    subject = parser_of("explain").parse(arguments).subject
    from gpuc.cli.explain_command import explanation

    write_stdout(explanation(subject))


def _help(arguments: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    command = parser_of("help").parse(arguments).command
    write_stdout(parser_of(command).format_help() if command else _overview())


def _version(arguments: list[str]) -> None:
    from gpuc import __version__

    if arguments:
        from gpuc.cli.arguments import parser_of

        parser_of("version").parse(arguments)
    write_stdout(f"gpuc {__version__}\n")


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
    """Runs a command and exits the process, without the cleanup of the Python interpreter. This is the entry point."""
    import gc

    # A run is short and creates few reference cycles; with the default thresholds, it takes a tenth longer.
    gc.set_threshold(100_000, 50, 50)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
