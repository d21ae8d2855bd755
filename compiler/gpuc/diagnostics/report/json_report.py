"""The JSON report, for programs. It is one JSON object.

`version` increases when a key is removed or changes its meaning, but not when a key is added. Every key is always
present. `file`, `line` and `column` are null for a finding without a position. `fix` is null if gpuc knows no certain
fix. `related` contains other positions that explain the finding.

    {"version": 2, "gpuc": "0.1.0", "clusters": ["prod-use1"],
     "files": {"written": [], "removed": [], "unchanged": 142},
     "changes": [],
     "counts": {"error": 1, "warning": 0, "info": 0}, "unchecked": [], "remarks": [],
     "findings": [{"id": "KUE007", "severity": "error", "message": "...",
                   "file": "specs/prod-use1.yaml", "line": 41, "column": 9,
                   "path": ["spec", "queues", "research"], "clusters": ["prod-use1"], "fix": null,
                   "related": [{"message": "first defined here", "file": "specs/prod-use1.yaml", "line": 12,
                                "column": 5, "path": ["spec", "pools", "train"]}]}],
     "failures": []}

`unchecked` contains a sentence for each check that lint could not do. `remarks` contains sentences about the files that
lint checked and the findings that it hides, for example because of the baseline. `failures` contains errors in the
output that a bug of gpuc caused (exit code 3), in the form of `findings`. `changes` groups the written and removed
files of a compile by cluster and subject:

    {"change": "changed", "cluster": "prod-use1", "files": 1, "lock": true, "subjects": [
     {"change": "changed", "subject": "queue research", "added": [], "removed": [],
      "changed": ["out/prod-use1/kueue/queues/research.yaml"]}]}

`change` is added, changed or removed. `files` is a number, without gpuc.lock; `lock` says whether gpuc.lock changed.
`subjects` is empty for an added or removed cluster.
"""

from typing import Any

from msgspec import to_builtins

from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.report.document import json_text, picked, position
from gpuc.diagnostics.report.result import Report, ReportRow

VERSION = 2


def render(report: Report) -> str:
    """Returns the report as an indented JSON object, in ASCII."""
    data = {
        "clusters": report.clusters,
        "files": picked(report, "written removed unchanged"),
        "changes": [to_builtins(change) for change in report.changes],
        "counts": {severity.value: report.count(severity) for severity in Severity},
        "unchecked": report.unchecked,
        "remarks": report.remarks,
        "findings": [_finding(row) for row in report.rows],
        "failures": [_finding(row) for row in report.failure_rows],
    }
    return json_text(data, VERSION)


def _finding(row: ReportRow) -> dict[str, Any]:
    finding = row.finding
    return {
        **picked(finding, "id severity message"),
        **position(finding.mark),
        "path": finding.path,
        "clusters": row.clusters,
        "fix": finding.fix or None,
        "related": [picked(other, "message path") | position(other.mark) for other in row.related],
    }
