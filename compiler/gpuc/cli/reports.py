"""Writes the reports of commands to stdout and files, and computes exit codes from findings."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.diagnostics.report.console import stdout_style, write_stdout
from gpuc.diagnostics.report.terminal import PLAIN, Style

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Finding
    from gpuc.diagnostics.report.output import ReportFile
    from gpuc.pipeline.stages import CompiledSpec


def write_reports(render: Callable[[str, Style], str], form: str, outputs: "Iterable[ReportFile]") -> None:
    """Writes a report to the files that the option --output names, and then to stdout.

    Args:
        render: returns the report in a format, for a stream with a style.
        form: the format of the report on stdout.
    """
    for output in outputs:
        output.write(render(output.format, PLAIN))
    write_stdout(render(form, stdout_style()))


def exit_code(findings: "Iterable[Finding]", *, strict: bool) -> int:
    """Returns 1 if a finding is an error, or a warning when `strict` is True; otherwise 0."""
    failing = {"error", "warning"} if strict else {"error"}
    return int(any(finding.severity.value in failing for finding in findings))


def refused(root: Path, findings: "Sequence[Finding]", names: Sequence[str], form: str = "text") -> int:
    """Prints the errors that stop a command in the same way as `gpuc check`, and returns the exit code 1.

    Args:
        names: the clusters of the command.
        form: the format of the command's report. Findings are text unless the format is json.
    """
    from gpuc.diagnostics.report import render
    from gpuc.diagnostics.report.result import Report
    from gpuc.pipeline.pipeline import source_line

    report = Report(tuple(findings), tuple(names), lines=lambda mark: source_line(root, mark))
    write_reports(lambda name, style: render(name, report, style), "json" if form == "json" else "text", ())
    return 1


def errors_of(root: Path, files: list[str] | None) -> int:
    """Prints the errors of specs in the same way as `gpuc check`. Returns the exit code: 0 if there are no errors.

    Args:
        files: the spec files; None for all clusters.
    """
    from gpuc.pipeline.pipeline import check_specs

    outcome = check_specs(root, files, root, False, lambda step: None)
    errors = [finding for finding in outcome.findings if finding.is_error]
    return refused(root, errors, outcome.clusters) if errors else 0


def show_compiled(show: "Callable[[CompiledSpec], None]", spec: str | None, command: str, form: str = "text") -> int:
    """Compiles the spec of one cluster, prints a report about the cluster, and returns the exit code.

    Args:
        show: prints the report. If the spec has errors, the errors are printed instead.
        spec: a spec file or the name of a cluster; None if the fleet has only one cluster.

    Raises:
        UsageError: if the fleet has several clusters and no argument names one.
    """
    from gpuc.cli.specs import only_spec
    from gpuc.diagnostics.finding import StageError
    from gpuc.pipeline.pipeline import located_errors
    from gpuc.pipeline.stages import compiled_spec

    root, file = only_spec([spec] if spec else [], command)
    try:
        compiled = compiled_spec(root, file)
    except StageError as error:
        return refused(root, located_errors(root, file, error), [Path(file).stem], form)
    show(compiled)
    return 0
