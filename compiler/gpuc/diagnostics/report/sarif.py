"""Prints a report as SARIF 2.1.0, the format of GitHub code scanning."""

import json
from typing import Any
from urllib.parse import quote

from gpuc import __version__
from gpuc.diagnostics.finding import Mark, Severity, find_rule
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report.fingerprints import fingerprints, in_repository
from gpuc.diagnostics.report.result import Report, ReportRow

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """Returns the report as a SARIF log with one run, in ASCII."""
    ids = sorted({row.finding.id for row in report.rows})
    prints = fingerprints(report.rows, report.repository_prefix)
    driver = {"name": "gpuc", "version": __version__, "rules": [_rule(rule_id) for rule_id in ids]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, ids, report, own) for row, own in zip(report.rows, prints, strict=True)],
    }
    if report.failure_rows:
        notes = [_notification(row, report) for row in report.failure_rows]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(id: str) -> dict[str, Any]:  # noqa: A002
    rule = find_rule(id)
    if rule is None:
        return {"id": id}
    text = "\n\n".join(part for part in (rule.title, rule.why, rule.source) if part)
    descriptor: dict[str, Any] = {
        "id": id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why or rule.title},
        "help": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    if rule.source.startswith("https://"):
        descriptor["helpUri"] = quote(rule.source.split()[0], safe=":/?#[]@!$&'()*+,;=%~")
    return descriptor


def _result(row: ReportRow, ids: list[str], report: Report, fingerprint: str) -> dict[str, Any]:
    finding = row.finding
    message = finding.message + (f"\nfix: {finding.fix}" if finding.fix else "")
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": ids.index(finding.id),
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [_location(row, report.repository_prefix)],
        # GitHub compares only the fingerprint with this name (SARIF support for code scanning, docs.github.com).
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        "properties": {"clusters": list(row.clusters)},
    }
    related = [
        {"id": number, **_physical_location(other.mark, report.repository_prefix), "message": {"text": other.message}}
        for number, other in enumerate(row.related, 1)
        if other.mark
    ]
    return {**result, "relatedLocations": related} if related else result


def _notification(row: ReportRow, report: Report) -> dict[str, Any]:
    """Returns the notification of a bug of gpuc. A bug is no result, because results are about the analysed files."""
    return {
        "descriptor": {"id": row.finding.id},
        "level": "error",
        "message": {"text": f"{REPORT_THIS}: {row.finding.message}"},
        "locations": [_location(row, report.repository_prefix)],
    }


def _location(row: ReportRow, prefix: str) -> dict[str, Any]:
    """Returns the location of a finding. The default is the cluster's spec: GitHub rejects results without a file."""
    finding = row.finding
    file = f"specs/{finding.cluster}.yaml" if finding.cluster else "specs"
    location = _physical_location(finding.mark or file, prefix)
    if row.path:
        location["logicalLocations"] = [{"fullyQualifiedName": row.path}]
    return location


def _physical_location(place: Mark | str, prefix: str) -> dict[str, Any]:
    """Returns the location of a mark, or of a complete file."""
    file = place if isinstance(place, str) else place.file
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": quote(in_repository(file, prefix)), "uriBaseId": "%SRCROOT%"}
    }
    if isinstance(place, Mark):
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": physical}
