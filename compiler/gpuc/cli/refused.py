"""The report about specs that do not compile, for commands that need compiled specs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.diagnostics.report.console import stdout_style, write_stdout

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Finding


def refused(root: Path, findings: Sequence[Finding], names: Sequence[str], form: str = "text") -> int:
    """Prints the errors of specs that do not compile, as `gpuc check` does, and returns the exit code.

    Args:
        names: the clusters of the command.
        form: the format of the command's report. Findings are text unless the format is json.
    """
    from gpuc.diagnostics.report import render
    from gpuc.diagnostics.report.result import Report
    from gpuc.pipeline.pipeline import source_line

    report = Report(tuple(findings), tuple(names), lines=lambda mark: source_line(root, mark))
    write_stdout(render("json" if form == "json" else "text", report, stdout_style()))
    return 1


def refused_specs(root: Path, files: Sequence[str] | None) -> int:
    """Checks specs. Prints their errors, and returns the exit code: 0 if they have no errors.

    Args:
        files: the specs; None for all.
    """
    from gpuc.pipeline.pipeline import check_specs

    outcome = check_specs(root, files, root, False, lambda step: None)
    errors = [finding for finding in outcome.findings if finding.is_error]
    return refused(root, errors, outcome.clusters) if errors else 0
