"""Changes several files together: after a crash, the next run of gpuc either completes or undoes all changes.

First, the new content of each file is written to the staging folder. Then one rename creates the journal, which lists
the changes. After a crash, the next run applies the changes in the journal. If there is no journal, the next run
deletes the staging folder.
"""

import contextlib
import hashlib
import json
from collections.abc import Sequence

from msgspec import Struct

from gpuc.write.filesystem import SafeDir
from gpuc.write.lockfile import is_output

STAGING = "out/.gpuc"
JOURNAL = f"{STAGING}/journal.json"
DRAFT = f"{STAGING}/journal.draft"


class TamperedError(Exception):
    """Another program changed the journal or a staged file after gpuc wrote it, so gpuc does not apply the journal."""


class ConflictError(Exception):
    """After an interrupted write, a file has neither its old nor its new content, so gpuc stops."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed after a compile was interrupted")
        self.path = path


class Change(Struct, frozen=True):
    """A planned change of a file: its content before and after the change."""

    path: str
    before: bytes | None
    """The content when the change was planned; None if the file did not exist."""
    after: bytes | None
    """The new content; None to remove the file."""


class _Step(Struct, frozen=True):
    """A change in the journal."""

    path: str
    before: str
    """The sha256 of the content before the transaction; empty if the file did not exist."""
    after: str
    """The sha256 of the new content; empty to remove the file."""
    staged: str
    """The staging file with the new content."""


def digest(data: bytes | None) -> str:
    """Returns the sha256 in hexadecimal digits; an empty text for a file that does not exist."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def apply_changes(folder: SafeDir, changes: Sequence[Change]) -> None:
    """Applies the changes in their order. Each file is changed by one rename or one removal.

    Raises:
        OSError: when the file system rejects an operation. Either no file has changed, or the journal exists and
            `recover` completes the transaction.
    """
    steps = []
    try:
        for number, change in enumerate(changes):
            staged = "" if change.after is None else f"{STAGING}/{number}"
            steps.append(_Step(change.path, digest(change.before), digest(change.after), staged))
            if change.after is not None:
                folder.create(staged, change.after)
        rows = [[step.path, step.before, step.after, step.staged] for step in steps]
        folder.create(DRAFT, json.dumps(rows).encode())
        folder.sync([step.staged for step in steps if step.after] + [DRAFT])
        folder.rename(DRAFT, JOURNAL)
    except OSError:
        with contextlib.suppress(OSError):
            _delete_staging(folder)
        raise
    _apply(folder, steps)


def recover(folder: SafeDir) -> None:
    """Completes an interrupted write if a journal exists. Otherwise, deletes the staging folder.

    Both errors are raised before the function changes a file.

    Raises:
        TamperedError: when the journal or a staged file was changed.
        ConflictError: when an output file was changed after the interruption.
    """
    journal = folder.read(JOURNAL)
    if journal is None:
        _delete_staging(folder)
    else:
        _apply(folder, _steps(journal))


def _apply(folder: SafeDir, steps: Sequence[_Step]) -> None:
    pending = _pending(folder, steps)
    for step in pending:
        if step.after and digest(folder.read(step.staged)) != step.after:
            raise TamperedError(f"{step.staged} does not have the digest in the journal")
    for step in pending:
        if step.after:
            folder.rename(step.staged, step.path)
        else:
            folder.remove(step.path)
    _delete_staging(folder)


def _pending(folder: SafeDir, steps: Sequence[_Step]) -> list[_Step]:
    """Returns the steps that are not yet applied.

    Raises:
        ConflictError: when the content of a file is neither the content before nor the content after its step.
    """
    pending = []
    for step in steps:
        present = digest(folder.read(step.path))
        if present == step.before:
            pending.append(step)
        elif present != step.after:
            raise ConflictError(step.path)
    return pending


def _delete_staging(folder: SafeDir) -> None:
    """Deletes the staging folder. The journal is deleted first: without a journal, staged files have no effect."""
    names = [name for name, is_folder in folder.entries(STAGING) if not is_folder]
    for name in sorted(names, key=lambda name: f"{STAGING}/{name}" != JOURNAL):
        if name.isdigit() or f"{STAGING}/{name}" in (JOURNAL, DRAFT):
            folder.remove(f"{STAGING}/{name}")
    folder.remove_empty_folders(STAGING)


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
