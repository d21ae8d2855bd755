"""The result of a run of Argo CD for a cluster: its Applications, the edits, and the failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuc.rehearse.argocd.checks import Failure
from gpuc.rehearse.argocd.timeline import State, Timeline


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """An Application. Times are in seconds from the command that applied the root Application."""

    name: str
    wave: int | None
    """None for the root Application."""
    created_s: float | None
    synced_s: float | None
    """Until the Application was Synced for the first time, or None."""
    good_s: float | None
    """Until the Application was Synced, Healthy and Succeeded for the first time, or None."""
    note: str = ""
    """The last state, or "" if the last state is good."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit."""

    name: str
    change: str
    """The change of the spec, of a file, or of a live object."""
    object: str
    """The object that had to change, with the changed fields."""
    seconds: float | None
    """From the commit to the change of the object. None if the edit is late or skipped."""
    limit_s: float
    waited: tuple[str, ...] = ()
    """The waits of Applications during the edit, longest first."""
    note: str = ""
    skipped: str = ""
    """Why the edit is impossible in this cluster, or "" if the edit ran."""

    @property
    def is_late(self) -> bool:
        """Whether the object was not changed in time."""
        return self.seconds is None and not self.skipped


@dataclass(frozen=True)
class SyncResult:
    """The complete result for a cluster."""

    cluster: str
    file: str
    hub: str
    """Where Argo CD runs, or "" if it runs in the cluster itself."""
    rows: tuple[ApplicationRow, ...]
    first_sync_s: float | None
    """Seconds until all Applications were Synced, Healthy and Succeeded, or None."""
    regressions: int
    """How many Applications of earlier waves were not good any more when an Application of a later wave was created."""
    edits: tuple[EditResult, ...]
    failures: tuple[Failure, ...]
    not_rendered: Mapping[str, str]
    """Applications that cannot be rendered because a chart is missing, with the reason."""
    substitutions: tuple[str, ...]
    """One sentence for each simulated or replaced part."""
    not_tested: tuple[str, ...]
    seconds: Mapping[str, float]
    """Duration of each step, in the order of the run."""
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
    def edits_run(self) -> tuple[EditResult, ...]:
        """Edits that were not skipped."""
        return tuple(edit for edit in self.edits if not edit.skipped)


def application_rows(timeline: Timeline, cluster: str, began: float) -> tuple[ApplicationRow, ...]:
    """The Applications of a cluster, the root first, then by wave; began is the start of the run in seconds."""
    names = {state.name for state in timeline if state.cluster == cluster}
    found = [_row(timeline.of(name), began) for name in names]
    return tuple(sorted(found, key=lambda row: (row.wave is not None, row.wave or 0, row.name)))


def _row(states: tuple[State, ...], began: float) -> ApplicationRow:
    first, last = states[0], states[-1]
    good = _since((state.at for state in states if state.is_good), began)
    note = "" if last.is_good else str(last)
    return ApplicationRow(
        first.name,
        first.wave,
        _since([first.at], began),
        _since((state.at for state in states if state.sync == "Synced" and state.phase == "Succeeded"), began),
        good,
        note,
    )


def _since(moments: Iterable[float], began: float) -> float | None:
    first = next(iter(moments), None)
    return None if first is None else max(first - began, 0.0)


def late_edits(edits: Iterable[EditResult], at: float) -> list[Failure]:
    """A failure for each late edit."""
    return [
        Failure("late", edit.name, edit.object, f"not changed after {edit.limit_s:.0f} s; {_waited(edit)}", at)
        for edit in edits
        if edit.is_late
    ]


def _waited(edit: EditResult) -> str:
    return f"waited: {'; '.join(edit.waited)}" if edit.waited else "no operation was running"
