"""Runs `gpuc compile` and `gpuc check`: all stages for each spec, then writing or comparing the output files."""

import gc
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, StageError, rule_table
from gpuc.diagnostics.output_error import OutputError
from gpuc.diagnostics.report.result import Report
from gpuc.diagnostics.today import dates
from gpuc.pipeline.fleet import Fleet
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.present_output import intact_files, lock_digest, unnamed_clusters
from gpuc.pipeline.render_session import Rendered, Renderer, RenderSession, Send
from gpuc.pipeline.result_cache import FleetEntry, Result, ResultCache, day_of_result, is_current
from gpuc.pipeline.shard import WHOLE, Shard
from gpuc.pipeline.snapshot import Snapshot

if TYPE_CHECKING:
    from gpuc.source import Source
    from gpuc.write.lockfile import Lock, Removals

Progress = Callable[[str], None]

rule_of = rule_table(__file__)
SAME_NAME = rule_of("LAY101")
COLLECT_AFTER = 20
"""The number of compiled clusters after which their memory is searched for garbage."""


class Compiled(Struct, frozen=True):
    """A cluster whose spec was compiled without errors."""

    name: str
    source: "Source"
    removals: "Removals"
    before: "Lock | None"
    """The gpuc.lock of the output before; None if there was no output."""


class Batch(Struct):
    """The clusters that a command compiles and the findings about them, before gpuc renders the output."""

    files: dict[str, str] = field(default_factory=dict)
    """The spec file of each cluster, by the name of the cluster."""
    findings: list[Finding] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)
    """Errors in the output that a bug of gpuc caused. If there are any, gpuc writes no file."""
    intact: int = 0
    """The number of output files of clusters whose stored result is repeated."""
    clusters: set[str] | None = None
    """The names of all clusters of the fleet; None if the command may not remove the output of other clusters."""

    @property
    def is_clean(self) -> bool:
        """Whether no cluster has an error."""
        return not self.failures and not any(finding.is_error for finding in self.findings)


def compile_specs(
    root: Path, files: Sequence[str] | None, into: Path, progress: Progress, shard: Shard = WHOLE
) -> Report:
    """Compiles clusters and writes the changed files. If a cluster has an error, no file is written.

    Args:
        root: the folder that contains specs/.
        files: spec files relative to the root; None for all clusters. Then the output of clusters without a spec is
            removed, by the first of several CI jobs.
        into: the folder that contains out/ and clusters/.
        progress: a function that receives the name of each step when the step starts.
    """
    rendered: list[Rendered] = []
    cache = ResultCache(_snapshot(root), is_read=True)
    with RenderSession(into, reuse=True) as session:
        renderer = Renderer(session, rendered.append)
        run = _Run(root, files, into, progress, shard, cache, session.send, renderer, needs_output=True)
        batch = run.compile_all()
        if not batch.is_clean:
            return run.report(batch)
        renderer.finish()
        outputs = [cluster.output for cluster in rendered]
        if not outputs and not (batch.clusters is not None and unnamed_clusters(str(into), batch.clusters)):
            return replace(run.report(batch), unchanged=batch.intact)
        from gpuc.write.writer import write

        progress("writing")
        try:
            plan = write(into, outputs, clusters=batch.clusters)
        except StageError as error:
            batch.findings += error.findings
            return run.report(batch)
    for cluster in rendered:
        cache.complete(cluster.file, cluster.output.lock, _has_same_elements(cluster))
    from gpuc.write.changes import changes

    written = (*plan.added, *plan.changed)
    unchanged = batch.intact + sum(len(output.files()) for output in outputs) - len(written)
    return replace(
        run.report(batch),
        written=written,
        removed=tuple(plan.removed),
        unchanged=unchanged,
        changes=changes(plan, outputs),
    )


def check_specs(
    root: Path, files: Sequence[str] | None, into: Path, fresh: bool, progress: Progress, shard: Shard = WHOLE
) -> Report:
    """Returns the findings of a compile, without writing a file.

    Args:
        fresh: whether to use no stored result, and to report also the files in out/ and clusters/ that a compile would
            add, change or remove.
    """
    cache = ResultCache(_snapshot(root), is_read=not fresh)
    if not fresh:
        run = _Run(root, files, into, progress, shard, cache, lambda name, artifacts, source: None)
        return run.report(run.compile_all())
    from gpuc.write.freshness import freshness_findings

    stale: list[Finding] = []
    with RenderSession(into, reuse=False) as session:
        session.start()
        renderer = Renderer(session, lambda cluster: stale.extend(freshness_findings(into, [cluster.output])))
        run = _Run(root, files, into, progress, shard, cache, session.send, renderer)
        batch = run.compile_all()
        if batch.is_clean:
            progress("comparing")
            renderer.finish()
            batch.findings += [*stale, *freshness_findings(into, (), clusters=batch.clusters)]
    return run.report(batch)


def _snapshot(root: Path) -> Snapshot | None:
    try:
        return Snapshot(root)
    except OSError:
        return None


class _Run(Struct):
    """One run of `gpuc compile` or `gpuc check`."""

    root: Path
    files: Sequence[str] | None
    into: Path
    progress: Progress
    shard: Shard
    cache: ResultCache
    send: Send
    renderer: Renderer | None = None
    needs_output: bool = False
    """Whether to repeat a stored result only if the output files of the cluster agree with the result."""
    others: OtherClusters = field(default_factory=OtherClusters)
    compiled: int = 0

    def compile_all(self) -> Batch:
        """Compiles the clusters of this CI job. For a cluster with unchanged input, repeats the stored result."""
        batch, fleet = Batch(), Fleet(self.root)
        known = self.cache.fleet() or _read_fleet(self.root, fleet, self.cache)
        findings = [*known.findings, *(known.of_folders if self.files is None else ())]
        batch.findings += (finding for finding in findings if finding.is_error or self.shard.index == 1)
        selected = known.clusters if self.files is None else self.files
        if self.files is None and self.shard.index == 1:
            batch.clusters = {Path(file).stem for file in selected}
        elif self.files is not None:
            self.others.add_unnamed(self.root, known.clusters, self.files, self.cache)
        names: dict[str, str] = {}
        for position, file in enumerate(selected):
            name = Path(file).stem
            first = names.setdefault(name, file)
            if first == file and not self.shard.has(position):
                self.others.add_selected(self.root, file, self.cache)
            elif self.shard.has(position):
                batch.files.setdefault(name, file)
                if first == file:
                    self._cluster(file, name, fleet, batch)
                else:
                    message = f"{file} and {first} both describe a cluster named {name}"
                    batch.findings.append(SAME_NAME.at((), message, mark=Mark(file, 1, 1)))
        return batch

    def report(self, batch: Batch) -> Report:
        """Returns the report of a command that has written no file."""
        report = _report(self.root, batch.findings, batch.files)
        return replace(report, failures=tuple(batch.failures), notes=tuple(self.cache.notes))

    def _cluster(self, file: str, name: str, fleet: Fleet, batch: Batch) -> None:
        """Adds a cluster to the batch: its stored result, or the result of its compile."""
        lock = lock_digest(str(self.into), name)
        if stored := self._stored(file, name, lock):
            result, intact = stored
            batch.intact += intact
            batch.findings += result.findings
            return
        if self.renderer:
            self.renderer.start()
        if fleet.is_good:
            self.progress(f"compiling {file}")
        dates.clear()
        try:
            compiled, findings = compile_cluster(self.root, file, self.into, self.send, fleet, self.others)
        except StageError as error:
            batch.findings += error.findings
        except OutputError as error:
            batch.failures += error.findings
        else:
            claims, conflicts = self.others.compared.pop(file)
            result = Result(conflicts, (lock,), day_of_result(), tuple(findings))
            self.cache.store(file, compiled.source.files, claims, result)
            batch.findings += findings
            self.compiled += 1
            if self.compiled % COLLECT_AFTER == 0:
                gc.collect()  # gpuc searches for garbage so rarely that memory would grow with the number of clusters
            if self.renderer:
                self.renderer.add(compiled)

    def _stored(self, file: str, name: str, lock: str) -> tuple[Result, int] | None:
        """Returns the stored result of a cluster and the number of its output files; None without a current result."""
        entry = self.cache.entry(file)
        if entry is None or entry.result is None:
            return None
        if not is_current(entry.result, tuple(self.others.conflicts(name, entry.claims)), lock):
            return None
        if not self.needs_output:
            return entry.result, 0
        if entry.result.output != lock or os.path.lexists(self.into / "out/.gpuc"):
            return None
        intact = intact_files(str(self.into), name)
        return (entry.result, intact) if intact else None


def _has_same_elements(cluster: Rendered) -> bool:
    """Returns whether the findings are also correct with the new gpuc.lock, because it has the same elements."""
    from gpuc.write.lockfile import parse

    before, after = cluster.before, parse(cluster.output.lock, cluster.output.cluster)
    return before is None or (after.elements, after.removals) == (before.elements, before.removals)


def compile_cluster(
    root: Path, file: str, into: Path, send: Send, fleet: Fleet, others: OtherClusters
) -> tuple[Compiled, list[Finding]]:
    """Compiles a spec file. The printer renders the artifacts at the same time as gpuc verifies them.

    If the present output below `into` has an element (a pool, tenant, namespace or queue) that the spec no longer has,
    the element was removed, and gpuc checks the removal.

    Args:
        others: the clusters to compare the spec with.

    Raises:
        StageError: when a stage finds errors, or the fleet has errors.
        OutputError: when a bug of gpuc makes the output wrong.
    """
    from gpuc.extra.files import read_files
    from gpuc.pipeline.removal import removals
    from gpuc.pipeline.stages import compile_source
    from gpuc.source import read_all
    from gpuc.write.lockfile import read_lock

    source, name = read_all(root, file), Path(file).stem
    before, written = read_lock(into, name), read_files(root, file)
    try:
        policies, catalog = fleet.policies, fleet.catalog
        if policies is None or catalog is None:
            from gpuc.pipeline.independent_findings import Inputs, independent_findings

            raise StageError(independent_findings(source, Inputs(policies, catalog, before, written, others)))
        spec = compile_source(source, policies, before, lambda part: send(name, part, source), written, others, catalog)
    except StageError as error:
        raise StageError(_located(error.findings, source, name)) from None
    except OutputError as error:
        raise OutputError(_located(error.findings, source, name)) from None
    return Compiled(name, source, removals(spec.cluster), before), _located(spec.findings, source, name)


def _read_fleet(root: Path, fleet: Fleet, cache: ResultCache) -> FleetEntry:
    """Returns the findings about what all clusters share, and stores them if there is no error."""
    from gpuc.extra.files import folders_without_cluster
    from gpuc.source import cluster_files
    from gpuc.source.foreign import objects_in_specs

    clusters = cluster_files(root)
    of_folders = (*folders_without_cluster(root, clusters), *objects_in_specs(root))
    if not any(finding.is_error for finding in (*fleet.findings, *of_folders)):
        cache.store_fleet(fleet.findings, of_folders, clusters)
    return FleetEntry("", tuple(fleet.findings), of_folders, tuple(clusters))


def located_errors(root: Path, file: str, error: StageError) -> list[Finding]:
    """Returns the findings of an exception about a spec, with the cluster and their positions in its files."""
    from gpuc.source import read_all

    try:
        return _located(error.findings, read_all(root, file), Path(file).stem)
    except StageError:  # gpuc cannot read the files, and the findings have the positions
        return list(error.findings)


def _located(findings: Iterable[Finding], source: "Source", name: str) -> list[Finding]:
    """Returns the findings with the name of the cluster, and with the file, line and column of their spec paths."""
    return [replace(source.located(finding), cluster=name) for finding in findings]


def _report(root: Path, findings: Iterable[Finding], clusters: Iterable[str]) -> Report:
    return Report(tuple(findings), tuple(clusters), lines=lambda mark: source_line(root, mark))


def source_line(root: Path, mark: Mark) -> str | None:
    """Returns the line of a file at a position; None if the line cannot be read.

    The result is also None for a link: a pull request could print the target of the link, such as .git/config.
    """
    path = root.resolve() / mark.file
    try:
        if path.resolve() != path:
            return None
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError, ValueError):
        return None
    return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None
