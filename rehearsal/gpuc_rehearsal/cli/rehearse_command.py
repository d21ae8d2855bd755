"""`gpuc rehearse`: checks the specs, starts the runs, and writes the reports."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gpuc.cli.reports import errors_of
from gpuc.cli.specs import selected
from gpuc.diagnostics.report.console import write_message
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.usage import UsageError
from gpuc.source import read
from gpuc.spec.parse import parse
from gpuc_rehearsal.cli.rehearsal import RehearsalOptions, Reports, Runs, report_runs, required
from gpuc_rehearsal.existing import existing_nodes
from gpuc_rehearsal.process import ProgramError
from gpuc_rehearsal.programs import Programs, find_programs


def run_rehearsal(form: str = "text", outputs: Sequence[ReportFile] = (), **given: Any) -> int:
    """Rehearses specs, writes the reports, and returns the exit code.

    Args:
        given: the fields of RehearsalOptions.

    Raises:
        UsageError: for options that do not go together, patterns that match no test case, and missing programs.
    """
    options = RehearsalOptions(**given)
    options.require_compatible()
    root, files = selected(options.specs)
    if options.keep and len(files) != 1 and not options.argocd:
        raise UsageError("--keep keeps one control plane running: name one spec")
    if errors_of(root, files):
        return 1
    substrates = {file: parse(read(root, file)).spec.cloud.substrate for file in files}
    if options.argocd and (file := next((name for name, row in substrates.items() if existing_nodes(row)), "")):
        raise UsageError(f"--argocd rehearses nodes that start and end, and {file} has {substrates[file].title}")
    programs = required(partial(find_programs, {substrate.folder for substrate in substrates.values()}))
    progress = Progress(sys.stderr, first_line_after=0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        runs, render_results = _runs(root, files, programs, options, progress)
        reports = Reports(render_results, form, outputs)
        report_runs(runs, options, reports, progress)
    except ProgramError as error:
        progress.close()
        sys.stderr.write(f"{error}\n")
        write_message("a program of the control plane failed; see the end of its log above")
        return 3
    finally:
        progress.close()
    return int(options.before is None and not all(result.is_good for result in reports.results))


def _runs(root: Path, files: list[str], programs: Programs, options: RehearsalOptions, progress: Progress) -> Runs:
    """Returns the runs that the options choose."""
    if options.argocd:
        from gpuc_rehearsal.cli.argocd_command import argocd_runs

        return argocd_runs(root, files, programs, options, progress)
    if options.before is not None:
        from gpuc_rehearsal.cli.transition_command import transitions

        return transitions(root, files, programs, options, progress)
    from gpuc_rehearsal.result import REPORT
    from gpuc_rehearsal.run import rehearsal

    return [rehearsal(root, file, options.case, programs, options.crds, progress) for file in files], REPORT.render
