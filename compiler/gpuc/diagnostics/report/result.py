"""The class Report: the result of a command, which the modules of this package print in several formats."""

from collections.abc import Callable
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Related, Severity
from gpuc.diagnostics.place import dotted
from gpuc.diagnostics.report.changes import ClusterChange


class ReportRow(Struct, frozen=True):
    """A finding in a report. If several clusters extend the layer with the mistake, they share one ReportRow."""

    finding: Finding
    clusters: tuple[str, ...]
    """Names of the clusters with the finding, sorted; empty if no cluster is known."""

    @property
    def path(self) -> str:
        """The spec path of the finding, for example "spec.pools.train-h100.instances[0]"."""
        return dotted(self.finding.path)

    @property
    def related(self) -> tuple[Related, ...]:
        """The related positions of the finding that are not on the same line as the finding."""
        mark = self.finding.mark
        line = (mark.file, mark.line) if mark else None
        return tuple(
            place for place in self.finding.related if not place.mark or (place.mark.file, place.mark.line) != line
        )


class Report(Struct, frozen=True, dict=True):
    """The findings of a command, and the files that the command wrote."""

    findings: tuple[Finding, ...] = ()
    clusters: tuple[str, ...] = ()
    """Names of the clusters that were compiled or checked."""
    written: tuple[str, ...] = ()
    """Files that were added or changed, relative to the folder that contains out/."""
    removed: tuple[str, ...] = ()
    """Files that were removed, relative to the folder that contains out/."""
    unchanged: int = 0
    """Number of output files that were already up to date."""
    changes: tuple[ClusterChange, ...] = ()
    """The written and removed files by cluster and subject."""
    quiet: bool = False
    """Whether the text report contains only errors and warnings."""
    lines: Callable[[Mark], str | None] = lambda mark: None
    """Function that returns the line of the file at a mark, without the line break; None if the line is not known."""
    seconds: float | None = None
    """Duration of the run. With None the report does not contain the duration, and depends only on the specs."""
    objects: int | None = None
    """Number of Kubernetes objects that lint checked; None if the run compiled specs."""
    unchecked: tuple[str, ...] = ()
    """A sentence for each check that lint could not do."""
    remarks: tuple[str, ...] = ()
    """Sentences about what was judged and what is hidden: built Kustomizations, ignored findings, the baseline."""
    repository_prefix: str = ""
    """The path of the root in its Git repository, for GitHub and SARIF: "" or "infra/fleet/"."""
    notes: tuple[str, ...] = ()
    """Sentences for stderr about the run, for example about a damaged entry of the cache."""
    failures: tuple[Finding, ...] = ()
    """Errors in the output that a bug of gpuc caused, at the spec paths from which gpuc created the objects."""

    @cached_property
    def rows(self) -> tuple[ReportRow, ...]:
        """The findings sorted by file, line, column and id; findings without a position are last."""
        return _rows(self.findings)

    @cached_property
    def failure_rows(self) -> tuple[ReportRow, ...]:
        """The errors in the output that bugs of gpuc caused, sorted like `rows`."""
        return _rows(self.failures)

    def count(self, severity: Severity) -> int:
        """Returns the number of findings in the report with a severity."""
        return sum(row.finding.severity is severity for row in self.rows)


def _rows(findings: tuple[Finding, ...]) -> tuple[ReportRow, ...]:
    clusters: dict[Finding, set[str]] = {}
    for finding in findings:
        # The findings of several clusters at the same position of a shared layer are equal without the cluster.
        shared = replace(finding, cluster="") if finding.mark else finding
        clusters.setdefault(shared, set()).add(finding.cluster)
    return tuple(
        ReportRow(finding, tuple(sorted(clusters[finding] - {""}))) for finding in sorted(clusters, key=_order)
    )


def _order(finding: Finding) -> tuple[object, ...]:
    mark = finding.mark or Mark("", 0, 0)
    position = (finding.mark is None, mark.file, mark.line, mark.column)
    return (*position, finding.id, finding.message, finding.cluster, [str(step) for step in finding.path])
