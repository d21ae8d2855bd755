"""`gpuc lint`: parses the arguments, lints each path and prints the report."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.cli.options import LintOptions
from gpuc.cli.specs import current_catalog, repository_prefix
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.console import stdout_style, write_stdout
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.linter import Linter


def run_lint(arguments: list[str]) -> int:
    """Runs `gpuc lint` and returns the exit code.

    Raises:
        UsageError: for wrong arguments, and for paths without YAML documents.
    """
    from gpuc.cli.arguments import parser_of

    started = perf_counter()
    options: LintOptions = parser_of("lint").parse(arguments, LintOptions())
    linter = Linter(_minor_version(options.kubernetes), options.chart, options.crds, current_catalog())
    for path in dict.fromkeys(options.paths):
        linter.lint(path)
    report = Report(
        tuple(linter.findings),
        lines=linter.source_map.line,
        objects=linter.objects,
        unchecked=tuple(
            linter.unchecked.sentences(has_chart=options.chart is not None, has_crds=options.crds is not None)
        ),
        seconds=perf_counter() - started if options.format == "text" else None,
        repository_prefix=repository_prefix(Path.cwd()),
    )
    write_stdout(render(options.format, report, stdout_style()))
    failing = {"error", "warning"} if options.strict else {"error"}
    return int(any(finding.severity.value in failing for finding in linter.findings))


def _minor_version(version: str) -> str:
    """Returns the minor version of Kubernetes: "1.35" for "v1.35.4".

    Raises:
        UsageError: when gpuc does not support the version.
    """
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    if not builtin_kinds(minor):
        raise UsageError(f"gpuc does not support Kubernetes {version}; it supports {', '.join(builtin_versions())}")
    return minor
