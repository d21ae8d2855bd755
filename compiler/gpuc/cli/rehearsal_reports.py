"""The reports of `gpuc rehearse` and its variants, and the end of --keep: control planes run until Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from gpuc.cli.options import RehearsalOptions
from gpuc.diagnostics.report.console import stdout_style, write_stdout
from gpuc.diagnostics.report.output import ReportFile
from gpuc.rehearse.layout import Report, Timed

R = TypeVar("R", bound=Timed)


class Reports(Generic[R]):
    """Results of a run. The format text is printed after each result, other formats and files after the last one."""

    def __init__(self, report: Report[R], options: RehearsalOptions, outputs: Sequence[ReportFile]) -> None:
        self.results: list[R] = []
        self._report, self._options, self._outputs = report, options, outputs

    def add(self, results: Sequence[R], kept: str) -> None:
        """Adds results of control planes that still run. With --keep, waits for Ctrl-C.

        Args:
            kept: a sentence about what runs until then.
        """
        self.results += results
        if self._options.format == "text":
            write_stdout(self._report.render("text", results, stdout_style()))
        if self._options.keep:
            write_stdout(f"export KUBECONFIG={results[0].kubeconfig}\n{kept}\n")
            with suppress(KeyboardInterrupt):
                signal.pause()

    def finish(self) -> None:
        """Prints the other formats and writes the files."""
        if self._options.format != "text":
            write_stdout(self._report.render(self._options.format, self.results))
        for output in self._outputs:
            output.write(self._report.render(output.format, self.results))
