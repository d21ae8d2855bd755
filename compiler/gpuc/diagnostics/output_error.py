"""A bug of gpuc that its own checks find in its output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Finding

REPORT_THIS = "gpuc failed, please report this"


class OutputError(Exception):
    """The output of a spec is wrong, and no line of the spec can mend it: a bug of gpuc.

    Each finding's message names file, object and path of the output; its own path is where the object comes from.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        found = "; ".join(f"{finding.id} {finding.message}" for finding in self.findings)
        super().__init__(f"{REPORT_THIS}: {found}")

    def __reduce__(self) -> tuple[type[OutputError], tuple[tuple[Finding, ...]]]:
        return OutputError, (self.findings,)
