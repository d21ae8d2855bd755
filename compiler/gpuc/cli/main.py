"""gpuc on the command line: arguments to one call each, its result to text and an exit code.

Exit codes: 0 no findings that count, 1 findings, 2 usage, 3 gpuc itself failed, 130 interrupted.
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
from gpuc.diagnostics.report.console import complain, put, put_error
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import SUMMARIES, UsageError

if TYPE_CHECKING:
    from gpuc.cli.options import Options
    from gpuc.diagnostics.report.output import ReportFile
    from gpuc.pipeline.pipeline import Outcome


RUNNERS = {
    "lint": ("cli.lint_command", "run_lint"),
    "trace": ("cli.trace_command", "run_trace"),
    "isolation": ("cli.isolation_command", "run_isolation"),
    "crds": ("cli.crds_command", "run_crds"),
    "rehearse": ("cli.rehearse_command", "run_rehearsal"),
}
"""Module and function of the commands that are rooms of their own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; whatever goes wrong is told in one line on stderr."""
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except UsageError as error:
        complain(str(error))
        return 2
    except OutputError as error:
        complain(str(error))
        return 3
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except Exception as error:
        if os.environ.get("GPUC_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        complain(_failure(error))
        return 3


def _dispatch(words: list[str]) -> int:
    if words == ["--version"]:
        from gpuc import __version__

        put(f"gpuc {__version__}\n")
        return 0
    if not words or words[0] in {"-h", "--help"}:
        put(_overview())
        return 0 if words else 2
    command, rest = words[0], words[1:]
    if command not in SUMMARIES:
        raise UsageError(f"no command {command}{did_you_mean(command, [*SUMMARIES, '--version', '--help'])}")
    if command in {"trace", "isolation", "crds"}:  # they print their own help
        return _runner(command)(rest)
    if "-h" in rest or "--help" in rest:
        from gpuc.cli.arguments import parser_of

        put(parser_of(command).format_help())
        return 0
    if command in {"compile", "check"}:
        return _run(command, rest)
    if command in RUNNERS:
        return _runner(command)(rest)
    {"schema": _schema, "explain": _explain, "init": _init}[command](rest)
    return 0


def _runner(command: str) -> Callable[[list[str]], int]:
    module, name = RUNNERS[command]
    run: Callable[[list[str]], int] = getattr(import_module(f"gpuc.{module}"), name)
    return run


def _overview() -> str:
    commands = "\n".join(f"  {name:<9}  {summary}" for name, summary in SUMMARIES.items())
    return (
        "usage: gpuc COMMAND [ARGUMENT...]\n\n"
        "The compiler for GPU Kubernetes clusters: a typed spec in, everything the controllers read out.\n\n"
        f"commands:\n{commands}\n\n"
        "`gpuc COMMAND --help` shows the arguments of one; `gpuc --version` the version.\n"
    )


def _run(command: str, words: list[str]) -> int:
    """compile and check: the pipeline between the arguments and the report."""
    started = perf_counter()
    from gpuc.cli.arguments import parser_of
    from gpuc.cli.options import Options
    from gpuc.cli.specs import find_root, select

    options: Options = parser_of(command).parse(words, Options())
    root = find_root(Path.cwd())
    files = select(root, Path.cwd(), options.specs)
    outputs: list[ReportFile] = []
    try:
        _prepare(outputs, options)
        outcome = _outcome(command, root, files, options)
        _report(outcome, root, options, outputs, perf_counter() - started)
    finally:
        for output in outputs:
            output.discard()
    if outcome.failures:
        return 3
    counting = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in counting for finding in outcome.findings))


def _prepare(outputs: list[ReportFile], options: Options) -> None:
    """Opens every file of --output, so that one that cannot be written is told before the work."""
    if not options.output:
        return
    from gpuc.diagnostics.report.output import ReportFile

    for form, file in options.output:
        if any(os.path.realpath(file) == str(other.target) for other in outputs):
            raise UsageError(f"two reports cannot go to one file: {file}")
        outputs.append(ReportFile(form, file))


def _outcome(command: str, root: Path, files: list[str] | None, options: Options) -> Outcome:
    from gpuc.diagnostics.report.progress import Progress
    from gpuc.pipeline import pipeline

    into: Path = options.into or root
    progress = Progress(sys.stderr)
    try:
        if command == "compile":
            _make(into)
            return pipeline.compile_specs(root, files, into, progress)
        return pipeline.check_specs(root, files, into, options.fresh, progress)
    finally:
        progress.close()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"nothing can be written into {folder}: {error.strerror}") from None


def _report(outcome: Outcome, root: Path, options: Options, outputs: list[ReportFile], seconds: float) -> None:
    from dataclasses import replace

    from gpuc.cli.specs import repository_prefix
    from gpuc.diagnostics.report import render
    from gpuc.diagnostics.report.result import Report
    from gpuc.diagnostics.report.terminal import is_terminal, wants_colour

    report = Report(
        findings=outcome.findings,
        failures=outcome.failures,
        clusters=outcome.clusters,
        written=outcome.written,
        removed=outcome.removed,
        unchanged=outcome.unchanged,
        lines=outcome.lines,
        repository_prefix=repository_prefix(root),
    )
    for output in outputs:
        output.write(render(output.format, report))
    if is_terminal(sys.stdout):
        report = replace(report, seconds=seconds)
    if not report.failures:
        put(render(options.format, report, colour=wants_colour(sys.stdout, os.environ)))
    elif options.format == "text":
        put_error(render("text", report, colour=wants_colour(sys.stderr, os.environ)))
    else:
        put(render(options.format, report))
        complain(f"{REPORT_THIS}: {len(report.failures)} findings about its own output; nothing is written")


def _schema(words: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    parser_of("schema").parse(words)
    from gpuc.cli.init import schema_text

    put(schema_text())


def _explain(words: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    wanted = parser_of("explain").parse(words).id
    from gpuc.diagnostics.report.explain import explain, listing

    put(explain(wanted) if wanted else listing())


def _init(words: list[str]) -> None:
    from gpuc.cli.arguments import parser_of

    directory = parser_of("init").parse(words).directory
    from gpuc.cli.init import write_fleet

    listed = "".join(f"  {file}\n" for file in write_fleet(Path(directory)))
    put(f"{directory} holds a fleet of one cluster:\n{listed}next: cd {directory} && gpuc compile\n")


def _failure(error: Exception) -> str:
    """What failed, and what to do about it."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"cannot go on: {error.strerror}{where}"
    from gpuc.diagnostics.finding import DeclarationError

    if isinstance(error, DeclarationError):
        return str(error)
    from traceback import extract_tb

    package = str(Path(__file__).parents[1])
    ours = [frame for frame in extract_tb(error.__traceback__) if frame.filename.startswith(package)]
    where = f" at {ours[-1].filename.removeprefix(package)[1:]}:{ours[-1].lineno}" if ours else ""
    return (
        f"internal error{where}: {type(error).__name__}: {error}; this is a fault of gpuc, not of the specs: "
        "report it with the output of the same command under GPUC_DEBUG=1"
    )


def run() -> None:
    """The process `gpuc`: runs one command and ends without tidying up what the system takes back anyway."""
    import gc

    # A run lives for half a second and makes hardly any cycles; looking for them costs a tenth of it.
    gc.set_threshold(100_000, 50, 50)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
