"""Writes the rendered files to out/ and clusters/. Writes only changed files, and overwrites only files of gpuc.

The gpuc.lock of a cluster lists the files of gpuc (lockfile.py). Either all files are written or none (transaction.py).
"""

import os
from collections.abc import Collection, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Rule, StageError, rule_table
from gpuc.write import transaction
from gpuc.write.filesystem import BusyError, RefusedError, SafeDir
from gpuc.write.lockfile import LOCKFILE, conflict_line, is_output, lock_file, parse
from gpuc.write.transaction import Change, ConflictError, TamperedError

WAIT_SECONDS = 5.0
"""The longest time that gpuc waits while another gpuc process writes."""

rule_of = rule_table(__file__)
FOREIGN = rule_of("WRT001")
OUTSIDE = rule_of("WRT002")
DAMAGED = rule_of("WRT003")
BUSY = rule_of("WRT004")
NOT_WRITTEN = rule_of("WRT005")


class Output(Struct, frozen=True):
    """The rendered output of a cluster."""

    cluster: str
    texts: dict[str, str]
    """The text of each file, by path relative to the root, without gpuc.lock."""
    lock: str
    """The text of gpuc.lock."""

    def files(self) -> dict[str, bytes]:
        """Returns the bytes of each file by path. gpuc.lock is last, because it lists files that are written."""
        texts = self.texts | {lock_file(self.cluster): self.lock}
        return {file: text.encode() for file, text in texts.items()}


class Plan(Struct):
    """The files that a write adds, changes and removes, with gpuc.lock. Paths are sorted and relative to the root."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    findings: list[Finding] = field(default_factory=list)
    """The reasons why gpuc cannot write the files; empty if gpuc can write them."""
    changes: list[Change] = field(default_factory=list)


def write(root: str | os.PathLike[str], outputs: Sequence[Output], *, clusters: Collection[str] | None = None) -> Plan:
    """Completes or undoes an interrupted write, then writes the outputs below the root.

    Args:
        root: the folder that contains out/ and clusters/.
        clusters: the names of all clusters of the fleet. The files of other clusters with a gpuc.lock are removed.
            None removes no cluster.

    Raises:
        StageError: when gpuc would overwrite a file that it does not own, a path is a link, a gpuc.lock is damaged,
            another gpuc is writing, or the file system rejects a write. Every file then has its complete old content
            or its complete new content.
    """
    try:
        with SafeDir(root) as folder, folder.locked("out", WAIT_SECONDS):
            transaction.recover(folder)
            planned = _compute_plan(folder, outputs, clusters)
            if planned.findings:
                raise StageError(planned.findings)
            if planned.changes:
                transaction.apply_changes(folder, planned.changes)
            return planned
    except RefusedError as error:
        raise StageError([at_file(OUTSIDE, error.path, str(error))]) from error
    except TamperedError as error:
        message = f"{error}: remove {transaction.STAGING}"
        raise StageError([at_file(DAMAGED, transaction.JOURNAL, message)]) from error
    except ConflictError as error:
        message = f"{error}: move the file, or remove {transaction.STAGING} to discard the interrupted compile"
        raise StageError([at_file(FOREIGN, error.path, message)]) from error
    except BusyError as error:
        raise StageError([at_file(BUSY, "out", "another gpuc has locked out/")]) from error
    except OSError as error:
        raise StageError([at_file(NOT_WRITTEN, "out", f"writing stopped: {error.strerror or error}")]) from error


def _compute_plan(folder: SafeDir, outputs: Sequence[Output], clusters: Collection[str] | None) -> Plan:
    plan = Plan()
    for output in outputs:
        before = len(plan.findings)
        _plan_cluster(folder, output.cluster, output.files(), plan)
        new_findings = plan.findings[before:]
        plan.findings[before:] = [replace(finding, cluster=output.cluster) for finding in new_findings]
    for cluster in removed_clusters(folder, clusters):
        _plan_cluster(folder, cluster, {}, plan)
    for paths in (plan.added, plan.changed, plan.removed):
        paths.sort()
    return plan


def _plan_cluster(folder: SafeDir, cluster: str, files: dict[str, bytes], plan: Plan) -> None:
    """Adds the changes of a cluster to the plan."""
    lock = lock_file(cluster)
    try:
        present = folder.read(lock)
        owned = parse(present, cluster).sha256 if present is not None else {}
    except RefusedError as error:
        plan.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    except ValueError as error:
        plan.findings.append(at_file(DAMAGED, lock, f"{lock} {error}", conflict_line(present or b"") or 1))
        return
    for file in sorted(owned.keys() - files.keys()):
        _plan_file(folder, file, None, True, plan)
    for file, after in files.items():
        if is_output(file, cluster):
            _plan_file(folder, file, after, file in owned or file == lock, plan)
        else:
            plan.findings.append(at_file(OUTSIDE, file, f"{file!r} is not a file of cluster {cluster}"))
    if not files:
        plan.changes.append(Change(lock, present, None))
        plan.removed.append(lock)


def _plan_file(folder: SafeDir, file: str, after: bytes | None, is_owned: bool, plan: Plan) -> None:
    """Adds the change of a file to the plan."""
    try:
        before = folder.read(file)
    except RefusedError as error:
        plan.findings.append(at_file(OUTSIDE, error.path, str(error)))
        return
    if before == after:
        return
    if before is not None and not is_owned:
        plan.findings.append(at_file(FOREIGN, file, f"{file} exists and was not written by gpuc"))
        return
    plan.changes.append(Change(file, before, after))
    files = plan.removed if after is None else plan.added if before is None else plan.changed
    files.append(file)


def removed_clusters(folder: SafeDir, clusters: Collection[str] | None) -> list[str]:
    """Returns the clusters that have a gpuc.lock but are not in `clusters`; an empty list if `clusters` is None."""
    if clusters is None:
        return []
    folders = [name for name, is_folder in folder.entries("out") if is_folder and is_output(lock_file(name))]
    others = [name for name in folders if name not in clusters]
    return [name for name in others if (LOCKFILE, False) in folder.entries(f"out/{name}")]


def at_file(rule: Rule, file: str, message: str, line: int = 1) -> Finding:
    """Returns a finding of a rule at the start of a line in a file."""
    return rule.at((), message, mark=Mark(file, line, 1))
