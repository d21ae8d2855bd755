"""What a run of Argo CD showed of one cluster: its Applications, the edits, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuc.rehearse.argocd.judge import Failure
from gpuc.rehearse.argocd.timeline import State, Timeline


@dataclass(frozen=True, slots=True)
class Row:
    """One Application, from the command that applied the root."""

    name: str
    wave: int | None
    """None for the root."""
    created_s: float | None
    synced_s: float | None
    """Seconds until it was Synced for the first time; None where it never was."""
    good_s: float | None
    """Seconds until it was Synced, Healthy and Succeeded for the first time."""
    note: str = ""
    """The state that it ended in, where that is not a good one."""


@dataclass(frozen=True, slots=True)
class EditRun:
    """One edit that was played."""

    name: str
    change: str
    """What was changed: of the spec, of a file, or of a live object."""
    object: str
    """The object that had to change, with its fields."""
    seconds: float | None
    """From the commit to the object; None where it did not come in time, or where the edit was skipped."""
    limit_s: float
    waited: tuple[str, ...] = ()
    """Which Application waited for what meanwhile, longest first."""
    note: str = ""
    skipped: str = ""
    """Why the cluster does not allow the edit; empty where it was played."""

    @property
    def is_late(self) -> bool:
        """Whether the object did not have the change in time."""
        return self.seconds is None and not self.skipped


@dataclass(frozen=True)
class SyncResult:
    """A whole run for one cluster."""

    cluster: str
    file: str
    hub: str
    """Where Argo CD runs, in words; empty where it runs in the cluster itself."""
    rows: tuple[Row, ...]
    first_sync_s: float | None
    """Seconds from the root to the moment when every Application was Synced, Healthy and Succeeded."""
    restless: int
    """Pairs of an Application that began and one of an earlier wave that had been good and was so no more."""
    edits: tuple[EditRun, ...]
    failures: tuple[Failure, ...]
    not_rendered: Mapping[str, str]
    """Applications whose chart is missing, with the reason."""
    substitutions: tuple[str, ...]
    """What was in the place of something else, one sentence each."""
    unjudged: tuple[str, ...]
    seconds: Mapping[str, float]
    """By step, in the order of the run."""
    memory_mib: int
    kubeconfig: Path

    @property
    def is_good(self) -> bool:
        return not self.failures

    @property
    def good(self) -> int:
        """How many Applications were Synced, Healthy and Succeeded at some time."""
        return sum(row.good_s is not None for row in self.rows)

    @property
    def played(self) -> tuple[EditRun, ...]:
        """Edits that were not skipped."""
        return tuple(edit for edit in self.edits if not edit.skipped)


def rows(timeline: Timeline, cluster: str, began: float) -> tuple[Row, ...]:
    """The Applications of a cluster in the order of their waves, the root first; began is in seconds."""
    names = {seen.name for seen in timeline if seen.cluster == cluster}
    found = [_row(timeline.of(name), began) for name in names]
    return tuple(sorted(found, key=lambda row: (row.wave is not None, row.wave or 0, row.name)))


def _row(states: tuple[State, ...], began: float) -> Row:
    first, last = states[0], states[-1]
    good = _since((seen.at for seen in states if seen.is_good), began)
    note = "" if last.is_good else str(last)
    return Row(
        first.name,
        first.wave,
        _since([first.at], began),
        _since((seen.at for seen in states if seen.sync == "Synced" and seen.phase == "Succeeded"), began),
        good,
        note,
    )


def _since(moments: Iterable[float], began: float) -> float | None:
    first = next(iter(moments), None)
    return None if first is None else max(first - began, 0.0)


def late(edits: Iterable[EditRun], at: float) -> list[Failure]:
    """A failure for each edit whose object did not come in time."""
    return [
        Failure("late", edit.name, edit.object, f"not after {edit.limit_s:.0f} s; {_waited(edit)}", at)
        for edit in edits
        if edit.is_late
    ]


def _waited(edit: EditRun) -> str:
    return f"waited: {'; '.join(edit.waited)}" if edit.waited else "no operation was running"
