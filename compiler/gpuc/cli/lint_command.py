"""`gpuc lint`: parses the arguments, lints each path and prints the report."""

import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter

from gpuc.catalog import load, schemas
from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.cli.reports import exit_code, write_reports
from gpuc.cli.specs import current_catalog, repository_prefix
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.usage import UsageError
from gpuc.lint.linter import Linter


def run_lint(
    paths: list[str],
    kubernetes: str = "1.35",
    chart: str | None = None,
    crds: Path | None = None,
    form: str = "text",
    strict: bool = False,
    complete: bool = False,
) -> int:
    """Lints files and folders, prints the report, and returns the exit code.

    Args:
        kubernetes: the minor version of the cluster.
        chart: the Helm chart of documents that are not Kubernetes objects, as NAME or NAME=VERSION.
        crds: a folder of schemas from `gpuc crds import`; they take precedence over gpuc's own schemas.
        complete: whether the files of each path have all objects of a cluster.

    Raises:
        UsageError: for a version or a chart that gpuc does not know, and for paths without YAML documents.
    """
    started = perf_counter()
    name = _known_chart(chart) if chart is not None else None
    with closing(Progress(sys.stderr)) as progress:
        linter = Linter(
            _minor_version(kubernetes), name, crds, current_catalog(), is_complete=complete, progress=progress
        )
        linter.lint_all(list(dict.fromkeys(paths)))
    report = Report(
        tuple(linter.findings),
        lines=linter.source_map.line,
        objects=linter.objects,
        unchecked=tuple(linter.unchecked.sentences(has_chart=name is not None, has_crds=crds is not None)),
        seconds=perf_counter() - started if form == "text" else None,
        repository_prefix=repository_prefix(Path.cwd()),
    )
    write_reports(lambda name, style: render(name, report, style), form, ())
    return exit_code(linter.findings, strict=strict)


def _known_chart(text: str) -> str:
    """Returns the name of the chart in NAME=VERSION, or in NAME for any version.

    Raises:
        UsageError: when gpuc has no schema for the Helm values of this chart and version.
    """
    name, _, version = text.partition("=")
    rows = [row for row in load().all_releases if schemas.chart(row.component)]
    if not any(row.component == name and version in ("", row.version) for row in rows):
        known = ", ".join(sorted({f"{row.component}={row.version}" for row in rows}))
        raise UsageError(
            f"--chart: gpuc has no schema for the Helm values of {text}; known: {known}; "
            "`gpuc lint --help` shows the usage"
        )
    return name


def _minor_version(version: str) -> str:
    """Returns the minor version of Kubernetes: "1.35" for "v1.35.4".

    Raises:
        UsageError: when gpuc does not support the version.
    """
    minor = ".".join(version.removeprefix("v").split(".")[:2])
    if not builtin_kinds(minor):
        raise UsageError(f"gpuc does not support Kubernetes {version}; it supports {', '.join(builtin_versions())}")
    return minor
