"""The result of a run as every format reads it: findings in reading order, each told once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from gpuc.diagnostics.finding import Finding, Mark, Severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding as a reader sees it: one, also where several clusters share the layer that it stands in."""

    finding: Finding
    clusters: tuple[str, ...]
    """The clusters that it concerns, sorted; empty where no cluster is known."""

    @property
    def path(self) -> str:
        """The spec path with dots: "spec.pools.train-h100.instances[0]"."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.finding.path)
        return "".join(steps).removeprefix(".")


@dataclass(frozen=True)
class Report:
    """What a run found and wrote, ready to be rendered."""

    findings: tuple[Finding, ...] = ()
    clusters: tuple[str, ...] = ()
    """Names of the clusters that were compiled or checked."""
    written: tuple[str, ...] = ()
    """Files that were added or changed, relative to the folder that holds out/."""
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    """Number of files whose bytes were right already."""
    lines: Callable[[Mark], str | None] = lambda mark: None
    """The source line at a mark, without its line break; None where it is not known."""
    seconds: float | None = None
    """How long the run took; None keeps it out, so that the text depends on the specs alone."""
    objects: int | None = None
    """How many objects were judged, where no spec was compiled."""
    unjudged: tuple[str, ...] = ()
    """What could not be judged, one sentence each."""
    repository_prefix: str = ""
    """Where the root lies in its repository, for formats read there: "" or "infra/fleet/"."""
    failures: tuple[Finding, ...] = ()
    """What is wrong with the output by a bug of gpuc; each at the spec path that the object comes from."""

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings by file, line, column and id, those without a place last."""
        return _diagnostics(self.findings)

    @cached_property
    def bugs(self) -> tuple[Diagnostic, ...]:
        """The failures in the same order."""
        return _diagnostics(self.failures)

    def count(self, severity: Severity) -> int:
        return sum(each.finding.severity is severity for each in self.diagnostics)


def _diagnostics(findings: tuple[Finding, ...]) -> tuple[Diagnostic, ...]:
    clusters: dict[Finding, set[str]] = {}
    for finding in findings:
        clusters.setdefault(_shared(finding), set()).add(finding.cluster)
    return tuple(
        Diagnostic(finding, tuple(sorted(clusters[finding] - {""}))) for finding in sorted(clusters, key=_reading_order)
    )


def _shared(finding: Finding) -> Finding:
    """The finding without its cluster, if it has a mark: what clusters have in common."""
    if finding.mark is None:
        return finding
    return replace(finding, cluster="")


def _reading_order(finding: Finding) -> tuple[object, ...]:
    mark = finding.mark or Mark("", 0, 0)
    place = (finding.mark is None, mark.file, mark.line, mark.column)
    return (*place, finding.id, finding.message, finding.cluster, [str(step) for step in finding.path])
