"""What the checks of a compile find in objects and values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuc.diagnostics.finding import Finding
from gpuc.manifest.manifest import Manifest, Values
from gpuc.objects.flaw import Flaw
from gpuc.objects.object_set import ObjectSet
from gpuc.verify import CHECKS
from gpuc.verify.subject import Subject


def _found(subject: Subject, topic: str) -> list[Flaw]:
    return [flaw for check in CHECKS.discover() if check.fault.id.startswith(topic) for flaw in check.find(subject)]


def schema_flaws(manifests: Sequence[Manifest], kubernetes: str) -> list[Flaw]:
    """Fields, values, metadata, empty values and duplicates."""
    return _found(Subject(ObjectSet(manifests, is_whole=True), kubernetes), "SCH")


def verify_schemas(manifests: Sequence[Manifest], kubernetes: str) -> list[Finding]:
    """The same as findings."""
    return [flaw.finding() for flaw in schema_flaws(manifests, kubernetes)]


def verify_values(values: Sequence[Values], releases: Mapping[str, Any]) -> list[Finding]:
    """Keys and values that the charts do not take."""
    subject = Subject(ObjectSet((), is_whole=True), "1.35", releases, tuple(values))
    return [flaw.finding() for flaw in _found(subject, "VAL")]
