"""`gpuc lint`: parses the arguments, checks the objects at each path, and prints the report."""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from gpuc.catalog import load, schemas
from gpuc.catalog.schemas import builtin_kinds, builtin_versions
from gpuc.cli.reports import exit_code, write_reports
from gpuc.cli.specs import current_catalog, repository_prefix
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.report import render
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.usage import UsageError
from gpuc.diagnostics.words import counted
from gpuc.documents.fleet_files import top_of_repository
from gpuc.lint.linter import Linter
from gpuc.lint.load.files import SETTINGS


def run_lint(
    paths: list[str],
    form: str = "text",
    strict: bool = False,
    baseline: Path | None = None,
    write_baseline: Path | None = None,
    outputs: Sequence[ReportFile] = (),
    **options: Any,
) -> int:
    """Checks the objects in files and folders, prints the report, and returns the exit code.

    Args:
        baseline: a file with known findings. The report omits these findings.
        write_baseline: a file to which gpuc writes all findings; the exit code is then 0.
        options: other options of `gpuc lint`, such as `kubernetes`, the minor version of the cluster.

    Raises:
        UsageError: for an unknown version or chart, for paths without YAML, and for a file that is no baseline.
    """
    started = perf_counter()
    linter = _linter(**options)
    with closing(Progress(sys.stderr)) as progress:
        linter.progress = progress
        linter.lint_all(list(dict.fromkeys(paths)))
    prefix = repository_prefix(Path.cwd())
    findings, remarks = _without_ignored(linter, paths)
    if write_baseline:
        from gpuc.lint.baseline import written

        write_stdout(f"{written(write_baseline, findings, prefix)}\n")
        return 0
    if baseline:
        findings = _new(findings, baseline, prefix, remarks)
    report = Report(
        tuple(findings),
        lines=linter.source_map.line,
        objects=linter.objects,
        unchecked=tuple(linter.unchecked.sentences(has_chart=bool(linter.chart), has_crds=linter.crds is not None)),
        seconds=perf_counter() - started if form == "text" else None,
        repository_prefix=prefix,
        remarks=tuple(remarks),
    )
    write_reports(lambda name, style: render(name, report, style), form, outputs)
    return exit_code(findings, strict=strict)


def _linter(
    kubernetes: str = "1.35",
    chart: str | None = None,
    crds: Path | None = None,
    build: bool = False,
    complete: bool = False,
) -> Linter:
    """Returns a linter.

    Args:
        kubernetes: the minor version of the cluster.
        chart: the Helm chart of documents that are not Kubernetes objects, as NAME or NAME=VERSION.
        crds: a folder of schemas from `gpuc crds import`; they take precedence over gpuc's own schemas.
        build: whether kustomize builds Kustomizations.
        complete: whether the files of each path have all objects of a cluster.
    """
    name = _known_chart(chart) if chart is not None else None
    return Linter(_minor_version(kubernetes), name, crds, current_catalog(), is_complete=complete, build=build)


def _new(findings: list[Finding], baseline: Path, prefix: str, remarks: list[str]) -> list[Finding]:
    """Returns the findings that are not in the baseline, and adds a remark about the findings in the baseline."""
    from gpuc.lint.baseline import new_findings

    new, sentence = new_findings(baseline, findings, prefix)
    remarks.append(sentence)
    return new


def _without_ignored(linter: Linter, paths: Sequence[str]) -> tuple[list[Finding], list[str]]:
    """Returns the findings that gpuc.yaml does not accept, and sentences about built overlays and accepted findings."""
    findings, accepted = linter.findings, linter.unchecked.accepted
    if settings := _settings_file(Path.cwd()):
        from gpuc.diagnostics.suppressions import apply_ignored
        from gpuc.lint.ignores import read_settings

        ignores = read_settings(settings, linter.source_map)
        findings, more = apply_ignored([*findings, *ignores.findings], ignores.entries, paths)
        accepted += more
    ignored = [f"{counted(accepted, 'finding')} ignored by comments or {SETTINGS}"] if accepted else []
    return findings, [*linter.unchecked.remarks, *ignored]


def _settings_file(folder: Path) -> Path | None:
    """Returns the gpuc.yaml of a folder or of its closest parent in the same repository; None if there is none."""
    top = top_of_repository(folder)
    inside = (parent for parent in (folder, *folder.parents) if top is None or parent.is_relative_to(top))
    return next((parent / SETTINGS for parent in inside if (parent / SETTINGS).is_file()), None)


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
