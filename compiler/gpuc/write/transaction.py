"""A transaction over several files: after a crash the next run either completes all changes or undoes all.

First the new content of every file is written to the staging folder. Then one rename creates the journal, which
commits the transaction. A later run that finds the journal applies the changes; without a journal it deletes the
staging folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from gpuc.write.filesystem import SafeDir
from gpuc.write.lockfile import is_output

STAGING = "out/.gpuc"
JOURNAL = f"{STAGING}/journal.json"
DRAFT = f"{STAGING}/journal.draft"


class TamperedError(Exception):
    """The journal or a staged file is not the one that gpuc wrote."""


class ConflictError(Exception):
    """A file has neither its content from before the transaction nor its new content."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed after a compile was interrupted")
        self.path = path


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a file."""

    path: str
    before: bytes | None
    """The present content; None if the file does not exist."""
    after: bytes | None
    """The new content; None to remove the file."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A change in the journal."""

    path: str
    before: str
    """The sha256 of the content before the transaction; empty if the file did not exist."""
    after: str
    """The sha256 of the new content; empty to remove the file."""
    staged: str
    """The staging file with the new content."""


def digest(data: bytes | None) -> str:
    """Returns the sha256 in hexadecimal digits; empty for a file that does not exist."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def apply_changes(tree: SafeDir, changes: Sequence[Change]) -> None:
    """Applies the changes in their order. Each file changes by one rename or one removal.

    Raises:
        OSError: when the file system rejects an operation. Before the commit no file has changed; after the commit
            `recover` completes the transaction.
    """
    steps = []
    try:
        for number, change in enumerate(changes):
            staged = "" if change.after is None else f"{STAGING}/{number}"
            steps.append(_Step(change.path, digest(change.before), digest(change.after), staged))
            if change.after is not None:
                tree.create(staged, change.after)
        rows = [[step.path, step.before, step.after, step.staged] for step in steps]
        tree.create(DRAFT, json.dumps(rows).encode())
        tree.sync([step.staged for step in steps if step.after] + [DRAFT])
        tree.rename(DRAFT, JOURNAL)
    except OSError:
        with contextlib.suppress(OSError):
            _clear(tree)
        raise
    _apply(tree, steps)


def is_pending(tree: SafeDir) -> bool:
    """Whether an interrupted run has left a transaction for `recover`."""
    return bool(tree.entries(STAGING))


def recover(tree: SafeDir) -> None:
    """Completes a committed transaction, or deletes the staging folder of an uncommitted one.

    Raises:
        TamperedError: when the journal or a staged file is not the one that gpuc wrote.
        ConflictError: when a file was changed after the interruption. Then `recover` changes no file.
    """
    journal = tree.read(JOURNAL)
    if journal is None:
        _clear(tree)
    else:
        _apply(tree, _steps(journal))


def _apply(tree: SafeDir, steps: Sequence[_Step]) -> None:
    pending = _pending(tree, steps)
    for step in pending:
        if step.after and digest(tree.read(step.staged)) != step.after:
            raise TamperedError(f"{step.staged} has another digest than the journal")
    for step in pending:
        if step.after:
            tree.rename(step.staged, step.path)
        else:
            tree.remove(step.path)
    _clear(tree)


def _pending(tree: SafeDir, steps: Sequence[_Step]) -> list[_Step]:
    """The steps that were not applied before a crash."""
    pending = []
    for step in steps:
        present = digest(tree.read(step.path))
        if present == step.before:
            pending.append(step)
        elif present != step.after:
            raise ConflictError(step.path)
    return pending


def _clear(tree: SafeDir) -> None:
    """Deletes the staging folder, the journal first: without a journal the staged files have no effect."""
    names = [name for name, is_folder in tree.entries(STAGING) if not is_folder]
    for name in sorted(names, key=lambda name: f"{STAGING}/{name}" != JOURNAL):
        if name.isdigit() or f"{STAGING}/{name}" in (JOURNAL, DRAFT):
            tree.remove(f"{STAGING}/{name}")
    tree.prune(STAGING)


def _steps(journal: bytes) -> list[_Step]:
    try:
        steps = [_Step(path, before, after, staged) for path, before, after, staged in json.loads(journal)]
        if all(
            is_output(step.path) and (not step.after or step.staged == f"{STAGING}/{number}")
            for number, step in enumerate(steps)
        ):
            return steps
    except (ValueError, TypeError, AttributeError):
        pass
    raise TamperedError(f"{JOURNAL} was not written by gpuc")
