"""All specs of a run: each through the stages, then printed, compared and written together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import Finding, Mark, Severity, StageError, declare_rule
from gpuc.diagnostics.output_error import OutputError
from gpuc.pipeline.compile_cache import CompileCache
from gpuc.pipeline.render_session import RenderSession, Send

if TYPE_CHECKING:
    from gpuc.source import Source
    from gpuc.write.lockfile import Departures

Progress = Callable[[str], None]

SAME_NAME = declare_rule(
    "LAY101", Severity.ERROR, "Two clusters have one name.",
    "Both would write the same files below out/ and clusters/.",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    findings: tuple[Finding, ...]
    clusters: tuple[str, ...]
    """Names of the clusters that were compiled or checked."""
    failures: tuple[Finding, ...] = ()
    """What is wrong with the output by a bug of gpuc; nothing is written then."""
    written: tuple[str, ...] = ()
    """Files that were added or changed, relative to the folder that holds out/."""
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    lines: Callable[[Mark], str | None] = lambda mark: None
    """The source line at a mark."""


@dataclass(frozen=True)
class Compiled:
    """One cluster that compiled."""

    name: str
    source: Source
    departures: Departures


@dataclass
class Batch:
    """All clusters of a run, up to the point where they are printed."""

    names: dict[str, str] = field(default_factory=dict)
    """The spec file of each cluster, by its name."""
    compiled: list[Compiled] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: list[Finding] = field(default_factory=list)
    """What is wrong with the output by a bug of gpuc."""

    @property
    def is_clean(self) -> bool:
        return not self.failures and not any(finding.is_error for finding in self.findings)

    def outcome(self, root: Path) -> Outcome:
        """The result of a run that wrote nothing."""
        return replace(_outcome(root, self.findings, self.names), failures=tuple(self.failures))


def compile_specs(root: Path, files: Sequence[str] | None, into: Path, progress: Progress) -> Outcome:
    """Compiles clusters and writes what changed; nothing is written when any of them has an error.

    files are spec files relative to the root; None stands for every cluster, and then clusters whose spec is gone
    lose their files.
    """
    cache = CompileCache(root, files, into)
    if known := cache.lookup():
        return replace(_outcome(root, known.findings, known.files), unchanged=sum(known.files.values()))
    with RenderSession.start(into, keep=True) as printing:
        inputs = cache.inputs
        batch = _compile_all(root, files, into, progress, printing.send)
        if not batch.is_clean:
            return batch.outcome(root)
        from gpuc.write.writer import write

        progress("writing")
        outputs = [printing.output(one.name, one.source, one.departures) for one in batch.compiled]
        try:
            plan = write(into, outputs, all_clusters=files is None)
        except StageError as stop:
            batch.findings += stop.findings
            return batch.outcome(root)
    cache.store(inputs, {output.cluster: output.index for output in outputs}, batch.findings)
    written = (*plan.added, *plan.changed)
    unchanged = sum(len(output.files()) for output in outputs) - len(written)
    return replace(batch.outcome(root), written=written, removed=tuple(plan.removed), unchanged=unchanged)


def check_specs(root: Path, files: Sequence[str] | None, into: Path, fresh: bool, progress: Progress) -> Outcome:
    """Reports what a compile would report; with fresh also each file of out/ that is not what the specs compile to."""
    if not fresh:
        return _compile_all(root, files, into, progress, lambda name, artifacts, source: None).outcome(root)
    with RenderSession.start(into, keep=False) as printing:
        batch = _compile_all(root, files, into, progress, printing.send)
        if batch.is_clean:
            from gpuc.write.freshness import stale

            progress("comparing")
            outputs = [printing.output(one.name, one.source, one.departures) for one in batch.compiled]
            batch.findings += stale(into, outputs, all_clusters=files is None)
    return batch.outcome(root)


def compile_cluster(root: Path, file: str, into: Path, send: Send) -> tuple[Compiled, list[Finding]]:
    """One cluster from its spec file to what was emitted, which goes to the printer before it is verified.

    What left the spec since the output below `into` was written is a removal.

    Raises:
        StageError: when a stage finds errors; later stages then do not run.
        OutputError: when the output is wrong, and no line of the spec can mend it.
    """
    from gpuc.pipeline.removal import departures
    from gpuc.pipeline.stages import compile_source
    from gpuc.policy.own import own_policies
    from gpuc.source import read
    from gpuc.write.lockfile import stored

    source = read(root, file)
    name = Path(file).stem
    try:
        done = compile_source(source, own_policies(root), stored(into, name), lambda part: send(name, part, source))
    except StageError as stop:
        raise StageError(_located(stop.findings, source, name)) from None
    except OutputError as error:
        raise OutputError(_located(error.findings, source, name)) from None
    return Compiled(name, source, departures(done.cluster)), _located(done.findings, source, name)


def _compile_all(root: Path, files: Sequence[str] | None, into: Path, progress: Progress, send: Send) -> Batch:
    from gpuc.source import cluster_files

    batch = Batch()
    for file in cluster_files(root) if files is None else files:
        name = Path(file).stem
        first = batch.names.setdefault(name, file)
        if first != file:
            batch.findings.append(SAME_NAME.at((), f"{file} and {first} are both named {name}", mark=Mark(file, 1, 1)))
            continue
        progress(f"compiling {file}")
        try:
            one, found = compile_cluster(root, file, into, send)
        except StageError as stop:
            batch.findings += stop.findings
        except OutputError as error:
            batch.failures += error.findings
        else:
            batch.compiled.append(one)
            batch.findings += found
    return batch


def _located(findings: Iterable[Finding], source: Source, name: str) -> list[Finding]:
    return [
        replace(finding, cluster=name, mark=finding.mark or source.locate(finding.path, finding.on_key))
        for finding in findings
    ]


def _outcome(root: Path, findings: Iterable[Finding], clusters: Iterable[str]) -> Outcome:
    return Outcome(tuple(findings), tuple(clusters), lines=lambda mark: _line(root, mark))


def _line(root: Path, mark: Mark) -> str | None:
    try:
        lines = (root / mark.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None
