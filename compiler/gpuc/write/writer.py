"""Puts printed texts below out/ and clusters/: whole files, only those that differ, none that is not ours.

The index of a cluster (lock.py) says which files are ours; the journal makes many files one change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpuc.diagnostics.finding import Finding, Mark, Rule, Severity, StageError, declare_rule
from gpuc.write import transaction as journal
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir
from gpuc.write.lockfile import NAME, is_output, lock_file, parse
from gpuc.write.transaction import Change, ConflictError, TamperedError

WAIT_SECONDS = 5.0
"""How long a second gpuc waits for the first one to finish writing."""

FOREIGN = declare_rule(
    "WRT001",
    Severity.ERROR,
    "A file that gpuc did not write stands where it has to write.",
    "The index does not name the file, so somebody else's work would be lost. Move it away, or restore the "
    "index from version control if it was lost.",
)
OUTSIDE = declare_rule(
    "WRT002",
    Severity.ERROR,
    "A path is no plain file in plain folders below out/ or clusters/.",
    "A link or a path with .. in it would let a compile write, or Argo CD read, somewhere else.",
)
BAD_INDEX = declare_rule(
    "WRT003",
    Severity.ERROR,
    "The index or the journal is not one that gpuc wrote.",
    "Without it nobody knows which files are gpuc's and may be replaced. Restore it from version control; after "
    "a merge conflict, take either side and compile again.",
)
BUSY = declare_rule(
    "WRT004",
    Severity.ERROR,
    "Another gpuc is writing here.",
    "Two runs at once would mix files of two states of the specs; the second one waits a little, then gives up.",
)
NOT_WRITTEN = declare_rule(
    "WRT005",
    Severity.ERROR,
    "The file system refused to write.",
    "No file is half written: either nothing has changed, or the next compile finishes what was begun.",
)


@dataclass(frozen=True, slots=True)
class Output:
    """All that one cluster compiles to."""

    cluster: str
    texts: dict[str, str]
    """By file, relative to the root, without the index."""
    index: str
    """The text of the index (`lock.render`)."""

    def files(self) -> dict[str, bytes]:
        """The bytes of every file, the index last: it then never names a file that is not written yet."""
        texts = self.texts | {lock_file(self.cluster): self.index}
        return {file: text.encode() for file, text in texts.items()}


@dataclass(slots=True)
class Plan:
    """What a write would change; its files are relative to the root, sorted, the indexes among them."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Files in the way that gpuc did not write."""
    findings: list[Finding] = field(default_factory=list)
    """Why nothing can be written, empty if it can."""
    changes: list[Change] = field(default_factory=list)


def plan(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> Plan:
    """What writing would change, without changing anything.

    With all_clusters a cluster that has an index and no output loses the files that its index names.
    """
    with SafeDir(root) as tree:
        return _planned(tree, outputs, all_clusters)


def write(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> Plan:
    """Makes the tree what the outputs say, after finishing or undoing what an interrupted run began.

    Raises:
        StageError: when a file in the way is not ours, a path leads elsewhere, an index is damaged, another gpuc
            holds the tree or the file system refuses. Then each file is still old or new in whole.
    """
    try:
        with SafeDir(root) as tree, tree.alone("out", WAIT_SECONDS):
            journal.recover(tree)
            planned = _planned(tree, outputs, all_clusters)
            if planned.findings:
                raise StageError(planned.findings)
            if planned.changes:
                journal.carry_out(tree, planned.changes)
            return planned
    except RefusedError as error:
        raise StageError([at_file(OUTSIDE, error.path, str(error))]) from error
    except TamperedError as error:
        raise StageError([at_file(BAD_INDEX, journal.JOURNAL, f"{error}: remove {journal.ASIDE}")]) from error
    except ConflictError as error:
        message = f"{error}: move it away, or remove {journal.ASIDE} to give that compile up"
        raise StageError([at_file(FOREIGN, error.path, message)]) from error
    except BusyError as error:
        raise StageError([at_file(BUSY, "out", "another gpuc holds out/")]) from error
    except OSError as error:
        raise StageError([at_file(NOT_WRITTEN, "out", f"writing stopped: {error.strerror or error}")]) from error


def _planned(tree: SafeDir, outputs: Sequence[Output], all_clusters: bool) -> Plan:
    made = Plan()
    for output in outputs:
        before = len(made.findings)
        _plan_cluster(tree, output.cluster, output.files(), made)
        made.findings[before:] = [replace(one, cluster=output.cluster) for one in made.findings[before:]]
    for cluster in gone(tree, outputs) if all_clusters else ():
        _plan_cluster(tree, cluster, {}, made)
    for files in (made.added, made.changed, made.removed, made.foreign):
        files.sort()
    return made


def _plan_cluster(tree: SafeDir, cluster: str, files: dict[str, bytes], made: Plan) -> None:
    index_file = lock_file(cluster)
    try:
        index = tree.read(index_file)
        ours = parse(index, cluster).sha256 if index is not None else {}
    except RefusedError as error:
        made.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    except ValueError as error:
        made.findings.append(at_file(BAD_INDEX, index_file, f"{index_file} {error}"))
        return
    for file in sorted(ours.keys() - files.keys()):
        _plan_file(tree, file, None, True, made)
    for file, after in files.items():
        if is_output(file, cluster):
            _plan_file(tree, file, after, file in ours or file == index_file, made)
        else:
            made.findings.append(at_file(OUTSIDE, file, f"{file!r} is no file of cluster {cluster}"))
    if not files:
        made.changes.append(Change(index_file, index, None))
        made.removed.append(index_file)


def _plan_file(tree: SafeDir, file: str, after: bytes | None, is_ours: bool, made: Plan) -> None:
    """Adds what has to happen to one file."""
    try:
        before = tree.read(file)
    except RefusedError as error:
        made.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    if before == after:
        return
    if before is not None and not is_ours:
        made.foreign.append(file)
        made.findings.append(at_file(FOREIGN, file, f"{file} exists and was not written by gpuc"))
        return
    made.changes.append(Change(file, before, after))
    kind = made.removed if after is None else made.added if before is None else made.changed
    kind.append(file)


def gone(tree: SafeDir, outputs: Iterable[Output]) -> list[str]:
    """The clusters that have an index and no output."""
    compiled = {output.cluster for output in outputs}
    folders = [name for name, is_folder in tree.entries("out") if is_folder and is_output(lock_file(name))]
    others = [name for name in folders if name not in compiled]
    return [name for name in others if (NAME, False) in tree.entries(f"out/{name}")]


def at_file(rule: Rule, file: str, message: str) -> Finding:
    """The finding that a file of the tree is at rule."""
    return rule.at((), message, mark=Mark(file, 1, 1))
