"""What a compile has added, changed and removed for each cluster and subject, and the lines about it in the report."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpuc.diagnostics.words import counted, first_names

MAX_LINES = 20
"""The largest number of lines that the text report has about changes."""
_MAX_FILES = 2
"""The largest number of files that the text report names for a subject."""
ADDED, CHANGED, REMOVED = "added", "changed", "removed"


class SubjectChange(Struct, frozen=True):
    """The files about one subject, for example a node pool or a tenant, that a compile has written or removed."""

    change: str
    """ADDED or REMOVED for a subject whose files are all new or all removed; otherwise CHANGED."""
    subject: str
    """For example "node pool dev-l4"."""
    added: tuple[str, ...] = ()
    """New files, relative to the folder that contains out/."""
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class ClusterChange(Struct, frozen=True):
    """The changes in the output of one cluster."""

    change: str
    """ADDED or REMOVED for a cluster whose output is new or removed; otherwise CHANGED."""
    cluster: str
    files: int
    """Number of files that were written or removed, without gpuc.lock."""
    lock: bool
    """Whether gpuc.lock was written or removed."""
    subjects: tuple[SubjectChange, ...]
    """Empty for an added or removed cluster."""


def lines(changes: Sequence[ClusterChange]) -> list[str]:
    """Returns the lines of the report about the changes. After MAX_LINES, only the number of further lines follows."""
    shown = [line for change in changes for line in _cluster(change)]
    if len(shown) <= MAX_LINES:
        return shown
    left_out = len(shown) - MAX_LINES + 1
    return [*shown[: MAX_LINES - 1], f"  and {left_out} more; --format json lists all changes"]


def _cluster(change: ClusterChange) -> Iterator[str]:
    parts = [counted(change.files, "file")] if change.files else []
    parts += ["gpuc.lock"] if change.lock else []
    yield f"{change.change} cluster {change.cluster}: {' and '.join(parts)}"
    yield from (f"  {subject.change:<7}  {subject.subject}: {_files(subject)}" for subject in change.subjects)


def _files(subject: SubjectChange) -> str:
    """Returns the first files of a subject, without out/ and the name of the cluster, and the number of the others."""
    groups = ((CHANGED, subject.changed), (ADDED, subject.added), (REMOVED, subject.removed))
    names = [
        re.sub("^out/[^/]*/", "", file) + (f" ({change})" if change != subject.change else "")
        for change, files in groups
        for file in files
    ]
    return first_names(names, _MAX_FILES)
