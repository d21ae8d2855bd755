"""The report for programs: one JSON object.

Its shape is stable under `version`, which grows when a key changes its meaning or goes; keys may be added.
Every key is always there: `file`, `line` and `column` are null for a finding without a place, `fix` is null
where nothing is certain.

    {"version": 1, "gpuc": "0.1.0", "clusters": ["prod-use1"],
     "files": {"written": [], "removed": [], "unchanged": 142},
     "counts": {"error": 1, "warning": 0, "info": 0}, "unjudged": [],
     "findings": [{"id": "KUE004", "severity": "error", "message": "...",
                   "file": "specs/prod-use1.yaml", "line": 41, "column": 9,
                   "path": ["spec", "queues", "research"], "clusters": ["prod-use1"], "fix": null}],
     "failures": []}

`failures` has the shape of `findings`: what is wrong with the output by a bug of gpuc (exit code 3).
"""

from __future__ import annotations

import json
from typing import Any

from gpuc import __version__
from gpuc.diagnostics.finding import Severity
from gpuc.diagnostics.report.result import Diagnostic, Report

VERSION = 1


def render(report: Report) -> str:
    """The report as one indented JSON object, in ASCII."""
    document = {
        "version": VERSION,
        "gpuc": __version__,
        "clusters": list(report.clusters),
        "files": {
            "written": list(report.written),
            "removed": list(report.removed),
            "unchanged": report.unchanged,
        },
        "counts": {severity.value: report.count(severity) for severity in Severity},
        "unjudged": list(report.unjudged),
        "findings": [_finding(each) for each in report.diagnostics],
        "failures": [_finding(each) for each in report.bugs],
    }
    return json.dumps(document, indent=2) + "\n"


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    finding = diagnostic.finding
    mark = finding.mark
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": mark.file if mark else None,
        "line": mark.line if mark else None,
        "column": mark.column if mark else None,
        "path": list(finding.path),
        "clusters": list(diagnostic.clusters),
        "fix": finding.fix or None,
    }
