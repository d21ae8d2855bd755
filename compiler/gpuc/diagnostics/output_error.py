"""The exception for errors in the output that a bug of gpuc caused."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuc.diagnostics.finding import Finding

REPORT_THIS = "gpuc failed, please report this"


class OutputError(Exception):
    """The output of a spec is wrong because of a bug of gpuc, so the user cannot correct it in the spec.

    The message of each finding names the file, the object and the path in the output. The path of the finding is the
    path of the spec from which gpuc created the object.
    """

    def __init__(self, findings: "Iterable[Finding]") -> None:
        self.findings = tuple(findings)
        messages = "; ".join(f"{finding.id} {finding.message}" for finding in self.findings)
        super().__init__(f"{REPORT_THIS}: {messages}")

    def __reduce__(self) -> "tuple[type[OutputError], tuple[tuple[Finding, ...]]]":
        return OutputError, (self.findings,)
