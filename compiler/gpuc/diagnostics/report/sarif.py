"""The report as SARIF 2.1.0, which GitHub code scanning and other result managers read."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from gpuc import __version__
from gpuc.diagnostics.finding import RULES, Severity
from gpuc.diagnostics.output_error import REPORT_THIS
from gpuc.diagnostics.report.result import Diagnostic, Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """The report as a SARIF log of one run, in ASCII."""
    ids = sorted({each.finding.id for each in report.diagnostics})
    seen: dict[str, int] = {}
    driver = {"name": "gpuc", "version": __version__, "rules": [_rule(one) for one in ids]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, ids, report, seen) for each in report.diagnostics],
    }
    if report.bugs:
        notes = [_notification(each, report) for each in report.bugs]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(id: str) -> dict[str, Any]:  # noqa: A002
    known = RULES.get(id)
    if known is None:
        return {"id": id}
    text = "\n\n".join(part for part in (known.title, known.why, known.source) if part)
    rule: dict[str, Any] = {
        "id": id,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.why or known.title},
        "help": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[known.severity]},
    }
    if known.source.startswith("https://"):
        rule["helpUri"] = quote(known.source.split()[0], safe=":/?#[]@!$&'()*+,;=%~")
    return rule


def _result(diagnostic: Diagnostic, ids: list[str], report: Report, seen: dict[str, int]) -> dict[str, Any]:
    finding = diagnostic.finding
    message = finding.message + (f"\nfix: {finding.fix}" if finding.fix else "")
    return {
        "ruleId": finding.id,
        "ruleIndex": ids.index(finding.id),
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [_location(diagnostic, report.repository_prefix)],
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(diagnostic, report, seen)},
        "properties": {"clusters": list(diagnostic.clusters)},
    }


def _notification(diagnostic: Diagnostic, report: Report) -> dict[str, Any]:
    """A bug of gpuc: no result about the analysed files."""
    return {
        "descriptor": {"id": diagnostic.finding.id},
        "level": "error",
        "message": {"text": f"{REPORT_THIS}: {diagnostic.finding.message}"},
        "locations": [_location(diagnostic, report.repository_prefix)],
    }


def _location(diagnostic: Diagnostic, prefix: str) -> dict[str, Any]:
    """The place of a finding; GitHub refuses a log where one has no file, so the cluster's spec stands in."""
    finding = diagnostic.finding
    mark = finding.mark
    file = mark.file if mark else f"specs/{finding.cluster}.yaml" if finding.cluster else "specs"
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(prefix + file), "uriBaseId": "%SRCROOT%"}}
    if mark:
        physical["region"] = {"startLine": mark.line, "startColumn": mark.column}
    location: dict[str, Any] = {"physicalLocation": physical}
    if diagnostic.path:
        location["logicalLocations"] = [{"fullyQualifiedName": diagnostic.path}]
    return location


def _fingerprint(diagnostic: Diagnostic, report: Report, seen: dict[str, int]) -> str:
    """What stays the same while lines move: id, file and spec path (or the line's text), and a count.

    It stands under the one key that GitHub compares.

    Source: https://docs.github.com/en/code-security/code-scanning, SARIF support
    """
    finding = diagnostic.finding
    mark = finding.mark
    subject = diagnostic.path or (mark and (report.lines(mark) or "").strip()) or finding.message
    file = mark.file if mark else finding.cluster
    told = "\0".join((finding.id, file, subject)).encode("utf-8", "backslashreplace")
    digest = sha256(told).hexdigest()[:16]
    seen[digest] = seen.get(digest, 0) + 1
    return f"{digest}:{seen[digest]}"
