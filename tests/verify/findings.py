"""Runs the checks of `gpuc compile` on objects or values."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuc.diagnostics.finding import Finding
from gpuc.manifest.manifest import Manifest, Values
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify import CHECKS
from gpuc.verify.subject import Subject


def _found(subject: Subject, topic: str) -> list[ObjectFinding]:
    return [
        finding for check in CHECKS.discover() if check.rule.id.startswith(topic) for finding in check.find(subject)
    ]


def schema_findings(manifests: Sequence[Manifest], kubernetes: str) -> list[ObjectFinding]:
    """Fields, values, metadata, empty values and duplicates."""
    return _found(Subject(ObjectSet(manifests, is_complete=True), kubernetes), "SCH")


def verify_schemas(manifests: Sequence[Manifest], kubernetes: str) -> list[Finding]:
    """The same findings, in the form that reports show."""
    return [finding.to_finding() for finding in schema_findings(manifests, kubernetes)]


def verify_values(values: Sequence[Values], releases: Mapping[str, Any]) -> list[Finding]:
    """Keys and values that the charts do not accept."""
    subject = Subject(ObjectSet((), is_complete=True), "1.35", releases, tuple(values))
    return [finding.to_finding() for finding in _found(subject, "VAL")]
