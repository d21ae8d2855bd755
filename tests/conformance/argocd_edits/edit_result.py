"""The result of an edit: the objects that change, the seconds, and how long Applications waited."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gpuc.cluster.application import sync_options
from gpuc.diagnostics.words import shortened
from gpuc.manifest.manifest import Manifest
from gpuc.plan.differences import differences as field_changes
from gpuc_rehearsal.apply import differences
from gpuc_rehearsal.argocd.checks import ATTEMPT, Failure
from gpuc_rehearsal.argocd.timeline import State, Timeline
from gpuc_rehearsal.client import Client
from gpuc_rehearsal.substitute import simulated_document
from gpuc_rehearsal.transition.synced_changes import NO_PRUNE, ObjectKey, diff_objects, key_of

APPLIED_SECONDS = 60
"""Limit for the time from the commit until the API server has the change. A slower change is late."""
_MAX_LENGTH = 120


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

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the report."""
        if self.skipped:
            return self.name, "skipped", "", "", self.skipped
        seconds = "never" if self.seconds is None else f"{self.seconds:.1f}"
        return self.name, self.change, self.object, seconds, "; ".join(filter(None, (*self.waited, self.note)))

    def lateness(self, at: float) -> Failure:
        """Returns the failure of a late edit. at is in seconds of the timeline."""
        waited = f"waited: {'; '.join(self.waited)}" if self.waited else "no operation was running"
        return Failure("late", self.name, self.object, f"not changed within {self.limit_s:.0f} s; {waited}", at)


class ObjectChanges(NamedTuple):
    """The changes of the objects between two compiled specs."""

    written: list[Manifest]
    pruned: list[ObjectKey]
    """Removed objects that Argo CD deletes."""
    unpruned: list[ObjectKey]
    """Removed objects with Prune=false, which remain in the cluster until an operator deletes them."""
    lines: dict[ObjectKey, str]
    """"Kind name: path old -> new" by object."""

    def summary(self, subject: ObjectKey | None = None) -> str:
        """Returns one line with the changes of one object and the number of other changed objects.

        Without a subject, or if the subject is unchanged, the line describes the first changed object.
        """
        described = subject if subject in self.lines else next(iter(self.lines), None)
        if described is None:
            return ""
        others = len(self.lines) - 1
        more = f", and {others} more objects" if others else ""
        return shortened(self.lines[described], _MAX_LENGTH) + more


def object_changes(before: Iterable[Manifest], after: Iterable[Manifest]) -> ObjectChanges:
    """Returns the changes of the objects between two compiled specs."""
    old = {key_of(manifest): manifest for manifest in before}
    written, removed = diff_objects(old.values(), after)
    lines = {}
    for manifest in written:
        earlier = old.get(key_of(manifest))
        changes = field_changes(earlier.document(), manifest.document()) if earlier else ()
        fields = (f"{'.'.join(map(str, row.path))} {row.before} -> {row.after}" for row in changes)
        lines[key_of(manifest)] = f"{manifest}: {', '.join(fields) or 'new'}"
    lines |= {key_of(manifest): f"{manifest}: removed" for manifest in removed}
    pruned, unpruned = (
        [key_of(row) for row in removed if (NO_PRUNE in sync_options(row)) is kept] for kept in (False, True)
    )
    return ObjectChanges(written, pruned, unpruned, lines)


def is_applied(client: Client, manifest: Manifest) -> bool:
    """Returns whether the live object has every field of the manifest, after the substitutions of the rehearsal.

    False if the object does not exist or is being deleted.
    """
    stored = client.find(*key_of(manifest))
    if stored is None or stored["metadata"].get("deletionTimestamp"):
        return False
    return all(difference.kind == "defaulted" for difference in differences(simulated_document(manifest), stored))


def wait_times(timeline: Timeline, start: float, end: float, min_s: float = 0.5) -> tuple[str, ...]:
    """Returns how long Applications waited between two times, as "application: message (n s)", longest wait first.

    Waits shorter than min_s are omitted.
    """
    spent: dict[tuple[str, str], float] = {}
    for name in sorted({state.name for state in timeline}):
        for state, until in timeline.spans(name, end):
            overlap = min(until, end) - max(state.at, start)
            if overlap > 0 and (message := _waiting(state)):
                spent[name, message] = spent.get((name, message), 0.0) + overlap
    longest = sorted(spent.items(), key=lambda item: -item[1])
    return tuple(f"{name}: {message} ({seconds:.1f} s)" for (name, message), seconds in longest if seconds >= min_s)


def _waiting(state: State) -> str:
    if state.phase != "Running":
        return ""
    return ATTEMPT.sub(" (retrying)", state.message).strip() if state.message else "operation runs"
