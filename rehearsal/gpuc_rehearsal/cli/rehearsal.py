"""What all kinds of `gpuc rehearse` share: the options, and the reports of runs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gpuc.diagnostics.report.console import stdout_style, write_stdout
from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.usage import UsageError
from gpuc_rehearsal.programs import MissingProgramsError

T = TypeVar("T")
Runs = tuple[Sequence[AbstractContextManager[Sequence[Any]]], Callable[..., str]]
"""Runs that yield results and end with the `with` block, and the function that renders a report of results."""


class RehearsalOptions(NamedTuple):
    """The options of rehearse."""

    specs: Sequence[str] = ()
    """Spec files and cluster names; empty for all specs."""
    case: Sequence[str] = ()
    """Patterns that select test cases; empty for all test cases."""
    crds: Path | None = None
    """A folder of CustomResourceDefinitions that replace the definitions of the components."""
    charts: Path | None = None
    """A folder of charts from `helm pull`."""
    keep: bool = False
    argocd: bool = False
    """Whether Argo CD applies the output instead of gpuc."""
    before: str | None = None
    """The revision or the folder of the state before; None to rehearse one state with test cases."""
    workloads: Path | None = None
    """A folder with the objects of users that run before the change; None for work that fills the quotas."""
    edit: Callable[..., None] | None = None
    """With argocd, edits a cluster after its first sync; the tests of gpuc do so."""

    def require_compatible(self) -> None:
        """Checks that no option lacks an option that it needs, and that no option excludes another option.

        Raises:
            UsageError: for options that do not go together.
        """
        observes = "--from observes a change instead of test cases: remove"
        for is_wrong, message in (
            (self.charts and not self.argocd, "--charts needs --argocd: only Argo CD renders charts"),
            (self.argocd and self.case, "--argocd waits for Applications instead of test cases: remove --case"),
            (
                self.workloads and self.before is None,
                "--workloads needs --from: it names the work that runs before the change",
            ),
            (self.before is not None and self.case, f"{observes} --case"),
            (self.before is not None and self.argocd, f"{observes} --argocd"),
        ):
            if is_wrong:
                raise UsageError(message)


class Reports:
    """The reports of runs: text after each run, other formats and files once for all runs.

    Args:
        render: returns the report of results in a format, for a stream with a style.
        form: the format on stdout.
        outputs: the files of --output.
    """

    def __init__(self, render: Callable[..., str], form: str, outputs: Iterable[ReportFile]) -> None:
        self._render = render
        self._form = form
        self._outputs = outputs
        self._is_written = False
        self.results: list[Any] = []

    def add(self, results: Sequence[Any]) -> None:
        """Adds the results of a run, and prints them if the format is text."""
        self.results += results
        if self._form == "text":
            write_stdout(self._render("text", results, stdout_style()))

    def write(self) -> None:
        """Prints and writes the other reports, unless that was done before, or there are no results."""
        if self._is_written or not self.results:
            return
        self._is_written = True
        if self._form != "text":
            write_stdout(self._render(self._form, self.results))
        for output in self._outputs:
            output.write(self._render(output.format, self.results))


def report_runs(
    runs: Sequence[AbstractContextManager[Sequence[Any]]],
    options: RehearsalOptions,
    reports: Reports,
    progress: Progress,
) -> None:
    """Starts each run, and reports its results. With --keep, waits for Ctrl-C before the next run.

    If a program fails, a report of observed changes has the runs before the failure. Other reports are not written.
    """
    try:
        for number, run in enumerate(runs, 1):
            with run as results:
                progress.close()
                reports.add(results)
                if options.keep:
                    if number == len(runs):
                        reports.write()
                    what = (
                        "Argo CD and its clusters run"
                        if options.argocd
                        else f"The control plane of {results[0].cluster} runs"
                    )
                    write_stdout(f"export KUBECONFIG={results[0].kubeconfig}\n{what} until Ctrl-C.\n")
                    with suppress(KeyboardInterrupt):
                        signal.pause()
        reports.write()
    finally:
        if options.before is not None:
            reports.write()


def required(find: Callable[[], T]) -> T:
    """Returns the programs that a function finds.

    Raises:
        UsageError: when a program is missing.
    """
    try:
        return find()
    except MissingProgramsError as error:
        raise UsageError(str(error)) from None
