"""Writes the rendered files into out/ and clusters/: only files that differ, and only files that gpuc owns.

gpuc owns the files that the cluster's gpuc.lock lists (lockfile.py). All files change in one transaction
(transaction.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpuc.diagnostics.finding import Finding, Mark, Rule, Severity, StageError, declare_rule
from gpuc.write import transaction
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir
from gpuc.write.lockfile import NAME, is_output, lock_file, parse
from gpuc.write.transaction import Change, ConflictError, TamperedError

WAIT_SECONDS = 5.0
"""How long gpuc waits for another gpuc that is writing."""

FOREIGN = declare_rule(
    "WRT001",
    Severity.ERROR,
    "gpuc would overwrite a file that it did not write.",
    "gpuc.lock does not list the file, so the compile would destroy the work of another program or person. Move the "
    "file away. If gpuc.lock was lost, restore it from version control.",
)
OUTSIDE = declare_rule(
    "WRT002",
    Severity.ERROR,
    "A path in out/ or clusters/ is not a regular file in regular folders.",
    "Through a symbolic link, or a path with .., the compile would write and Argo CD would read outside of these "
    "folders.",
)
BAD_INDEX = declare_rule(
    "WRT003",
    Severity.ERROR,
    "gpuc.lock or the journal of an interrupted compile is damaged.",
    "Without it gpuc cannot know which files it owns and may replace. Restore gpuc.lock from version control. After "
    "a merge conflict, take either version and compile again.",
)
BUSY = declare_rule(
    "WRT004",
    Severity.ERROR,
    "Another gpuc is writing to out/.",
    "Two runs at the same time would mix the output of two versions of the specs. Wait for the other run, then "
    "compile again.",
)
NOT_WRITTEN = declare_rule(
    "WRT005",
    Severity.ERROR,
    "The file system rejected a write.",
    "No file is incomplete: either no file has changed, or the next compile completes the change.",
)


@dataclass(frozen=True, slots=True)
class Output:
    """The rendered output of a cluster."""

    cluster: str
    texts: dict[str, str]
    """The text of each file, by path relative to the root, without gpuc.lock."""
    index: str
    """The text of gpuc.lock (`lockfile.render`)."""

    def files(self) -> dict[str, bytes]:
        """The bytes of every file. gpuc.lock is last, so it never lists a file that is not written yet."""
        texts = self.texts | {lock_file(self.cluster): self.index}
        return {file: text.encode() for file, text in texts.items()}


@dataclass(slots=True)
class Plan:
    """The changes of a write. Files are relative to the root and sorted; gpuc.lock is included."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Files that gpuc would overwrite but did not write."""
    findings: list[Finding] = field(default_factory=list)
    """The reasons why gpuc cannot write; empty if it can."""
    changes: list[Change] = field(default_factory=list)


def plan(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> Plan:
    """Returns the changes that `write` would make, without a change.

    Args:
        all_clusters: whether to remove the files of clusters that have a gpuc.lock but no output.
    """
    with SafeDir(root) as tree:
        return _planned(tree, outputs, all_clusters)


def write(root: str | os.PathLike[str], outputs: Sequence[Output], *, all_clusters: bool = False) -> Plan:
    """Recovers from an interrupted run, then writes the outputs below the root.

    Raises:
        StageError: when gpuc would overwrite a file that it does not own, a path is a link, a gpuc.lock is damaged,
            another gpuc is writing, or the file system rejects a write. Then each file still has its complete old or
            new content.
    """
    try:
        with SafeDir(root) as tree, tree.locked("out", WAIT_SECONDS):
            transaction.recover(tree)
            planned = _planned(tree, outputs, all_clusters)
            if planned.findings:
                raise StageError(planned.findings)
            if planned.changes:
                transaction.apply_changes(tree, planned.changes)
            return planned
    except RefusedError as error:
        raise StageError([at_file(OUTSIDE, error.path, str(error))]) from error
    except TamperedError as error:
        message = f"{error}: remove {transaction.STAGING}"
        raise StageError([at_file(BAD_INDEX, transaction.JOURNAL, message)]) from error
    except ConflictError as error:
        message = f"{error}: move the file away, or remove {transaction.STAGING} to discard that compile"
        raise StageError([at_file(FOREIGN, error.path, message)]) from error
    except BusyError as error:
        raise StageError([at_file(BUSY, "out", "another gpuc has locked out/")]) from error
    except OSError as error:
        raise StageError([at_file(NOT_WRITTEN, "out", f"writing stopped: {error.strerror or error}")]) from error


def _planned(tree: SafeDir, outputs: Sequence[Output], all_clusters: bool) -> Plan:
    changes = Plan()
    for output in outputs:
        before = len(changes.findings)
        _plan_cluster(tree, output.cluster, output.files(), changes)
        new_findings = changes.findings[before:]
        changes.findings[before:] = [replace(finding, cluster=output.cluster) for finding in new_findings]
    for cluster in removed_clusters(tree, outputs) if all_clusters else ():
        _plan_cluster(tree, cluster, {}, changes)
    for files in (changes.added, changes.changed, changes.removed, changes.foreign):
        files.sort()
    return changes


def _plan_cluster(tree: SafeDir, cluster: str, files: dict[str, bytes], changes: Plan) -> None:
    """Adds the changes of a cluster to the plan."""
    index_file = lock_file(cluster)
    try:
        index = tree.read(index_file)
        owned = parse(index, cluster).sha256 if index is not None else {}
    except RefusedError as error:
        changes.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    except ValueError as error:
        changes.findings.append(at_file(BAD_INDEX, index_file, f"{index_file} {error}"))
        return
    for file in sorted(owned.keys() - files.keys()):
        _plan_file(tree, file, None, True, changes)
    for file, after in files.items():
        if is_output(file, cluster):
            _plan_file(tree, file, after, file in owned or file == index_file, changes)
        else:
            changes.findings.append(at_file(OUTSIDE, file, f"{file!r} is not a file of cluster {cluster}"))
    if not files:
        changes.changes.append(Change(index_file, index, None))
        changes.removed.append(index_file)


def _plan_file(tree: SafeDir, file: str, after: bytes | None, is_owned: bool, changes: Plan) -> None:
    """Adds the change of a file to the plan."""
    try:
        before = tree.read(file)
    except RefusedError as error:
        changes.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    if before == after:
        return
    if before is not None and not is_owned:
        changes.foreign.append(file)
        changes.findings.append(at_file(FOREIGN, file, f"{file} exists and was not written by gpuc"))
        return
    changes.changes.append(Change(file, before, after))
    kind = changes.removed if after is None else changes.added if before is None else changes.changed
    kind.append(file)


def removed_clusters(tree: SafeDir, outputs: Iterable[Output]) -> list[str]:
    """The clusters that have a gpuc.lock but no output."""
    compiled = {output.cluster for output in outputs}
    folders = [name for name, is_folder in tree.entries("out") if is_folder and is_output(lock_file(name))]
    others = [name for name in folders if name not in compiled]
    return [name for name in others if (NAME, False) in tree.entries(f"out/{name}")]


def at_file(rule: Rule, file: str, message: str) -> Finding:
    """Returns a finding of the rule at the start of a file."""
    return rule.at((), message, mark=Mark(file, 1, 1))
