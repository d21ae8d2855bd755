"""The functions of `gpuc compile` and `gpuc check`."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from gpuc.cli.reports import exit_code
from gpuc.cli.specs import find_root, repository_prefix, select
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.console import write_message, write_stderr, write_stdout
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.report.terminal import is_terminal, style_of
from gpuc.diagnostics.usage import UsageError
from gpuc.pipeline.shard import Shard, shard_of

Run = Callable[[Path, list[str] | None, Path, Progress, Shard], Report]
"""Compiles or checks the specs below a root; all specs if the list is None. The second path is the folder for out/."""


def run_compile(**options: Any) -> int:
    """Runs `gpuc compile`: writes out/ and clusters/, prints the report, and returns the exit code."""
    from gpuc.pipeline.pipeline import compile_specs

    def run(root: Path, files: list[str] | None, into: Path, progress: Progress, shard: Shard) -> Report:
        try:
            into.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write to {into}: {error.strerror}") from None
        return compile_specs(root, files, into, progress, shard)

    return _run(run, **options)


def run_check(*, fresh: bool = False, **options: Any) -> int:
    """Runs `gpuc check`: prints the report, and returns the exit code. Writes no output.

    Args:
        fresh: whether to use no stored result, and to report output files that a compile would change.
    """
    from gpuc.pipeline.pipeline import check_specs

    def run(root: Path, files: list[str] | None, into: Path, progress: Progress, shard: Shard) -> Report:
        return check_specs(root, files, into, fresh, progress, shard)

    return _run(run, **options)


def _run(
    run: Run,
    specs: Sequence[str],
    into: Path | None = None,
    form: str = "text",
    outputs: Sequence[ReportFile] = (),
    strict: bool = False,
    quiet: bool = False,
    shard: str = "1/1",
) -> int:
    try:
        part = shard_of(shard)
    except ValueError as error:
        raise UsageError(str(error)) from None
    started = perf_counter()
    root = find_root(Path.cwd())
    files = select(root, Path.cwd(), specs)
    progress = Progress(None if quiet else sys.stderr)
    try:
        report = run(root, files, into or root, progress, part)
    finally:
        progress.close()
    for note in report.notes:
        write_message(note)
    report = replace(report, repository_prefix=repository_prefix(root))
    for output in outputs:
        output.write(render(output.format, report))
    seconds = perf_counter() - started if is_terminal(sys.stdout) else None
    _print(replace(report, quiet=quiet and form == "text", seconds=seconds), form)
    return 3 if report.failures else exit_code(report.findings, strict=strict)


def _print(report: Report, form: str) -> None:
    """Prints the report to stdout. Failures of gpuc are text on stderr."""
    if report.failures and form == "text":
        write_stderr(render(form, report, style_of(sys.stderr, os.environ)))
        return
    write_stdout(render(form, report, style_of(sys.stdout, os.environ)))
    if report.failures:
        write_message(f"{REPORT_THIS}: {len(report.failures)} errors in the output; no file was written")
