"""All specs of a run: each through the stages, then printed, compared and written together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuc.diagnostics.finding import Finding, Mark, Severity, Stop, fault
from gpuc.pipeline.compile_cache import Memo
from gpuc.pipeline.render_session import Printing, Send
from gpuc.synth.cdk8s import PackageMissingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpuc.source import Source
    from gpuc.write.lockfile import Departures

Progress = Callable[[str], None]

SAME_NAME = fault(
    "LAY101", Severity.ERROR, "Two clusters have one name.",
    "Both would write the same files below out/ and clusters/.",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    findings: tuple[Finding, ...]
    clusters: tuple[str, ...]
    """Names of the clusters that were compiled or checked."""
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

    @property
    def is_clean(self) -> bool:
        return not any(finding.is_error for finding in self.findings)

    def outcome(self, root: Path) -> Outcome:
        """The result of a run that wrote nothing."""
        return Outcome(tuple(self.findings), tuple(self.names), lines=lambda mark: _line(root, mark))


def compile_specs(root: Path, files: Sequence[str] | None, into: Path, progress: Progress) -> Outcome:
    """Compiles clusters and writes what changed; nothing is written when any of them has an error.

    files are spec files relative to the root; None stands for every cluster, and then clusters whose spec is gone
    lose their files.
    """
    will_print = _will_print(root, files, into)
    memo = None if will_print else _memo(root, files, into)
    if memo and (known := memo.unchanged()):
        return Outcome((), tuple(known), unchanged=sum(known.values()))
    with Printing.start(into, keep=True, at_once=will_print) as printing:
        memo = memo or _memo(root, files, into)
        batch = _compile_all(root, files, into, progress, printing.send)
        if not batch.is_clean:
            return batch.outcome(root)
        from gpuc.write.writer import write

        progress("writing")
        outputs = [printing.output(one.name, one.source, one.departures) for one in batch.compiled]
        try:
            plan = write(into, outputs, all_clusters=files is None)
        except Stop as stop:
            batch.findings += stop.findings
            return batch.outcome(root)
    if memo and not batch.findings:
        memo.remember({output.cluster: output.index for output in outputs})
    written = (*plan.added, *plan.changed)
    unchanged = sum(len(output.files()) for output in outputs) - len(written)
    return replace(batch.outcome(root), written=written, removed=tuple(plan.removed), unchanged=unchanged)


def check_specs(root: Path, files: Sequence[str] | None, into: Path, fresh: bool, progress: Progress) -> Outcome:
    """Reports what a compile would report; with fresh also each file of out/ that is not what the specs compile to."""
    if not fresh:
        return _compile_all(root, files, into, progress, lambda name, artifacts, source: None).outcome(root)
    with Printing.start(into, keep=False, at_once=True) as printing:
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
        Stop: when a stage finds errors; later stages then do not run.
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
    except Stop as stop:
        raise Stop(_located(stop.findings, source, name)) from None
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
        except Stop as stop:
            batch.findings += stop.findings
        else:
            batch.compiled.append(one)
            batch.findings += found
    return batch


def _located(findings: Iterable[Finding], source: Source, name: str) -> list[Finding]:
    return [
        replace(finding, cluster=name, mark=finding.mark or source.locate(finding.path, finding.on_key))
        for finding in findings
    ]


def _memo(root: Path, files: Sequence[str] | None, into: Path) -> Memo | None:
    try:
        return Memo(root, files, into)
    except (OSError, PackageMissingError):
        return None  # an input that cannot be read is a finding of the compile


def _line(root: Path, mark: Mark) -> str | None:
    try:
        lines = (root / mark.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None


def _will_print(root: Path, files: Sequence[str] | None, into: Path) -> bool:
    """Whether Node is likely to be needed: a hint from the age of files, on which no output depends.

    Node then starts while Python still imports; a wrong guess only costs time.
    """
    try:
        indexes = [os.stat(entry.path + "/gpuc.lock").st_mtime for entry in os.scandir(into / "out") if entry.is_dir()]
        specs = files or [entry.path for entry in os.scandir(root / "specs") if entry.is_file()]
        newest = max(os.stat(root / spec).st_mtime for spec in specs)
    except (OSError, ValueError):
        return True
    return not indexes or newest > min(indexes)
