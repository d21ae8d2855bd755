"""The command `gpuc rehearse`: checks its options and the specs, runs the rehearsals, and writes the reports."""

import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from gpuc.cli.reports import errors_of
from gpuc.cli.specs import selected
from gpuc.diagnostics.report.console import stdout_style, write_message, write_stdout
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.usage import UsageError
from gpuc.source import read
from gpuc.spec.parse import parse
from gpuc_rehearsal.autoscaler import existing_nodes
from gpuc_rehearsal.process import ProgramError
from gpuc_rehearsal.programs import Programs, find_programs

Runs = tuple[Sequence[AbstractContextManager[Sequence[Any]]], Callable[..., str]]
"""Runs that yield results and end with the `with` block, and the function that renders a report of results."""


class RehearsalOptions(NamedTuple):
    """The options of `gpuc rehearse`. The file commands.toml explains the options."""

    specs: Sequence[str] = ()
    case: Sequence[str] = ()
    crds: Path | None = None
    charts: Path | None = None
    keep: bool = False
    argocd: bool = False
    before: str | None = None
    """The revision or the folder of the state before; None to rehearse one state with test cases."""
    workloads: Path | None = None
    edit: Callable[..., None] | None = None
    """With argocd, edits a cluster after its first sync; the tests of gpuc do so."""

    def require_compatible(self) -> None:
        """Checks that the options of `gpuc rehearse` can be used together.

        Raises:
            UsageError: if an option needs another option, or excludes another option.
        """
        has_before, observes = self.before is not None, "--from observes a change instead of test cases: remove"
        for is_wrong, message in (
            (self.charts and not self.argocd, "--charts needs --argocd: only Argo CD renders charts"),
            (self.argocd and self.case, "--argocd waits for Applications instead of test cases: remove --case"),
            (
                self.workloads and not has_before,
                "--workloads needs --from: it names the work that runs before the change",
            ),
            (has_before and self.case, f"{observes} --case"),
            (has_before and self.argocd, f"{observes} --argocd"),
        ):
            if is_wrong:
                raise UsageError(message)


def run_rehearsal(form: str = "text", outputs: Sequence[ReportFile] = (), **given: Any) -> int:
    """Rehearses specs, writes the reports, and returns the exit code.

    Args:
        given: the fields of RehearsalOptions.

    Raises:
        UsageError: for options that exclude each other, patterns that match no test case, and missing programs.
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
    programs = find_programs({substrate.folder for substrate in substrates.values()})
    progress = Progress(sys.stderr, first_line_after=0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        results = report_runs(_runs(root, files, programs, options, progress), options, form, outputs, progress)
    except ProgramError as error:
        progress.close()
        sys.stderr.write(f"{error}\n")
        write_message("a program of the control plane failed; see the end of its log above")
        return 3
    finally:
        progress.close()
    return int(options.before is None and not all(result.is_good for result in results))


def _runs(root: Path, files: list[str], programs: Programs, options: RehearsalOptions, progress: Progress) -> Runs:
    """Returns the runs that the options choose."""
    if options.argocd:
        from gpuc_rehearsal.cli.argocd_command import argocd_runs

        return argocd_runs(root, files, programs, options, progress)
    if options.before is not None:
        from gpuc_rehearsal.cli.transition_command import transitions

        return transitions(root, files, programs, options, progress)
    from gpuc_rehearsal.result import REPORT
    from gpuc_rehearsal.runner import rehearsal

    return [rehearsal(root, file, options.case, programs, options.crds, progress) for file in files], REPORT.render


def report_runs(
    started: Runs, options: RehearsalOptions, form: str, outputs: Iterable[ReportFile], progress: Progress
) -> list[Any]:
    """Starts each rehearsal, writes the reports, and returns the results. With --keep, waits for Ctrl-C after each one.

    A text report is printed after each rehearsal. Reports in other formats and the files of --output are written once
    for all rehearsals. If a program fails, only `gpuc rehearse --from` writes a report, about the rehearsals before.
    """
    (runs, render), results, is_written = started, list[Any](), False

    def write() -> None:
        nonlocal is_written
        if results and not is_written:
            is_written = True
            if form != "text":
                write_stdout(render(form, results))
            for output in outputs:
                output.write(render(output.format, results))

    try:
        for number, run in enumerate(runs, 1):
            with run as added:
                progress.close()
                results += added
                if form == "text":
                    write_stdout(render("text", added, stdout_style()))
                if options.keep:
                    if number == len(runs):
                        write()
                    cluster = f"The control plane of {added[0].cluster} runs"
                    what = "Argo CD and its clusters run" if options.argocd else cluster
                    write_stdout(f"export KUBECONFIG={added[0].kubeconfig}\n{what} until Ctrl-C.\n")
                    with suppress(KeyboardInterrupt):
                        signal.pause()
        write()
    finally:
        if options.before is not None:
            write()
    return results
