"""Several files changed as one: after a crash at any point the next run finishes or undoes.

New bytes are first written aside, complete, then a journal is put beside them in one step. From then on the
change is decided: whoever finds the journal carries it out. Without one, what lies aside was never decided and goes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from gpuc.write.filesystem import SafeDir
from gpuc.write.lockfile import is_output

ASIDE = "out/.gpuc"
JOURNAL = f"{ASIDE}/journal.json"
DRAFT = f"{ASIDE}/journal.draft"


class TamperedError(Exception):
    """A journal that gpuc did not write."""


class ConflictError(Exception):
    """A file is neither what it was when the change was decided nor what it was to become."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed since a compile was interrupted")
        self.path = path


@dataclass(frozen=True, slots=True)
class Change:
    """What one file is to become."""

    path: str
    before: bytes | None
    """Its present bytes, None where it does not exist yet."""
    after: bytes | None
    """Its bytes to be, None where it is to go."""


@dataclass(frozen=True, slots=True)
class _Step:
    path: str
    before: str
    """The sha256 of the file as it was planned for, empty where there was none."""
    after: str
    """The sha256 of the file to be, empty where it goes."""
    aside: str
    """Where its new bytes lie."""


def digest(data: bytes | None) -> str:
    """The sha256 in hexadecimal digits; empty for a file that does not exist."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def carry_out(tree: SafeDir, changes: Sequence[Change]) -> None:
    """Makes the changes in their order, each file by one rename or one removal.

    Raises:
        OSError: when the file system refuses; before anything was decided nothing has changed, later the next
            `recover` finishes.
    """
    steps = []
    try:
        for number, change in enumerate(changes):
            aside = "" if change.after is None else f"{ASIDE}/{number}"
            steps.append(_Step(change.path, digest(change.before), digest(change.after), aside))
            if change.after is not None:
                tree.create(aside, change.after)
        rows = [[step.path, step.before, step.after, step.aside] for step in steps]
        tree.create(DRAFT, json.dumps(rows).encode())
        tree.settle([step.aside for step in steps if step.after] + [DRAFT])
        tree.rename(DRAFT, JOURNAL)
    except OSError:
        with contextlib.suppress(OSError):
            _clear(tree)
        raise
    _apply(tree, steps)


def is_pending(tree: SafeDir) -> bool:
    """Whether a run was interrupted and `recover` has something to finish or to undo."""
    return bool(tree.entries(ASIDE))


def recover(tree: SafeDir) -> None:
    """Finishes a change that was decided and undoes one that was not.

    Raises:
        TamperedError: when the journal, or what lies aside, is not ours.
        ConflictError: when somebody changed a file in between; then nothing is done.
    """
    journal = tree.read(JOURNAL)
    if journal is None:
        _clear(tree)
    else:
        _apply(tree, _steps(journal))


def _apply(tree: SafeDir, steps: Sequence[_Step]) -> None:
    for step in (left := _left(tree, steps)):
        if step.after and digest(tree.read(step.aside)) != step.after:
            raise TamperedError(f"{step.aside} is not what the journal says")
    for step in left:
        if step.after:
            tree.rename(step.aside, step.path)
        else:
            tree.remove(step.path)
    _clear(tree)


def _left(tree: SafeDir, steps: Sequence[_Step]) -> list[_Step]:
    """The steps that were not done before a crash."""
    left = []
    for step in steps:
        present = digest(tree.read(step.path))
        if present == step.before:
            left.append(step)
        elif present != step.after:
            raise ConflictError(step.path)
    return left


def _clear(tree: SafeDir) -> None:
    """Removes the journal first: without it what else lies there means nothing."""
    names = [name for name, is_folder in tree.entries(ASIDE) if not is_folder]
    for name in sorted(names, key=lambda name: f"{ASIDE}/{name}" != JOURNAL):
        if name.isdigit() or f"{ASIDE}/{name}" in (JOURNAL, DRAFT):
            tree.remove(f"{ASIDE}/{name}")
    tree.prune(ASIDE)


def _steps(journal: bytes) -> list[_Step]:
    try:
        steps = [_Step(path, before, after, aside) for path, before, after, aside in json.loads(journal)]
        if all(
            is_output(step.path) and (not step.after or step.aside == f"{ASIDE}/{number}")
            for number, step in enumerate(steps)
        ):
            return steps
    except (ValueError, TypeError, AttributeError):
        pass
    raise TamperedError(f"{JOURNAL} is not one that gpuc wrote")
