"""The result of a run of Argo CD for one cluster: Applications, edits and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """When the Application was Synced and Succeeded for the first time, or None."""
    good_s: float | None
    """When the Application was Synced, Healthy and Succeeded for the first time, or None."""
    note: str = ""
    """The last state. Empty if the Application was Synced, Healthy and Succeeded at the end."""


APPLIED_SECONDS = 60
"""Limit for the time from the commit until the API server has the change. A slower change is late."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """The result of an edit."""

    name: str
    change: str = ""
    """The change of the spec, of a file, or of a live object."""
    object: str = ""
    """The object that must change, with the changed fields."""
    seconds: float | None = None
    """Time from the commit or the manual edit to the change of the object. None if the edit is late or skipped."""
    limit_s: float = APPLIED_SECONDS
    waited: tuple[str, ...] = ()
    """Waits of Applications during the edit as "application: message (n s)", longest first."""
    note: str = ""
    skipped: str = ""
    """Why the edit is impossible in this cluster. Empty if the edit ran."""

    @property
    def is_late(self) -> bool:
        """Whether the object was not changed in time."""
        return self.seconds is None and not self.skipped


@dataclass(frozen=True)
class SyncResult:
    """The result of a run of Argo CD for one cluster. The reports are written from this result."""

    cluster: str
    file: str
    hub: str
    """Where Argo CD runs. Empty if Argo CD runs in this cluster."""
    rows: tuple[ApplicationRow, ...]
    first_sync_s: float | None
    """Seconds until all Applications were Synced, Healthy and Succeeded. None if the sync did not finish in time."""
    regressions: int
    """How often an Application was created while an Application of an earlier wave was no longer good
    (State.is_good)."""
    edits: tuple[EditResult, ...]
    failures: tuple[Failure, ...]
    not_rendered: Mapping[str, str]
    """Reasons why Applications are not rendered, by name. The reason is always a missing chart."""
    substitutions: tuple[str, ...]
    """One sentence for each simulated or replaced part."""
    not_tested: tuple[str, ...]
    seconds: Mapping[str, float]
    """Duration of the steps by name, in the order of the run."""
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
    """Returns the Applications of a cluster: first the root Application, then the others by wave and name.

    began is the time when the root Application was applied, in seconds of the timeline.
    """
    names = {state.name for state in timeline if state.cluster == cluster}
    rows = [_row(timeline.of(name), began) for name in names]
    return tuple(sorted(rows, key=lambda row: (row.wave is not None, row.wave or 0, row.name)))


def _row(states: tuple[State, ...], began: float) -> ApplicationRow:
    first, last = states[0], states[-1]

    def since(is_reached: Callable[[State], bool]) -> float | None:
        return next((max(state.at - began, 0.0) for state in states if is_reached(state)), None)

    synced = since(lambda state: state.sync == "Synced" and state.phase == "Succeeded")
    good = since(lambda state: state.is_good)
    note = "" if last.is_good else str(last)
    return ApplicationRow(first.name, first.wave, max(first.at - began, 0.0), synced, good, note)


def late_edits(edits: Iterable[EditResult], at: float) -> list[Failure]:
    """Returns a failure for each late edit. at is the time of the failures, in seconds of the timeline."""
    found = []
    for edit in edits:
        if edit.is_late:
            waited = f"waited: {'; '.join(edit.waited)}" if edit.waited else "no operation was running"
            message = f"not changed within {edit.limit_s:.0f} s; {waited}"
            found.append(Failure("late", edit.name, edit.object, message, at))
    return found
