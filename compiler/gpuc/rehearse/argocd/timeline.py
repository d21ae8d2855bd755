"""What Argo CD shows of its Applications over time, as data: the judge reads it, and tests write it by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuc.kubernetes.argocd import WAVE
from gpuc.rehearse.client import Object

Finding = tuple[str, str]
"""An object as "Kind namespace/name", empty where the message names none, and the message."""


@dataclass(frozen=True, slots=True)
class State:
    """One Application at one moment."""

    at: float
    """Seconds since the watch began."""
    name: str
    cluster: str = ""
    """Its AppProject, which has the name of the cluster."""
    wave: int | None = None
    """None for the root, which no wave orders."""
    sync: str = ""
    """Synced, OutOfSync or Unknown; empty until Argo CD has compared it."""
    health: str = ""
    phase: str = ""
    """Of the last operation: Running, Succeeded, Failed, Error, Terminating; empty where there was none."""
    message: str = ""
    """Of the last operation."""
    revision: str = ""
    """The commit, or the version of the chart, that was compared last."""
    conditions: tuple[Finding, ...] = ()
    """Type and message."""
    refused: tuple[Finding, ...] = ()
    """What the last operation could not apply."""
    differing: tuple[str, ...] = ()
    """Objects that are not as Git has them and are not to be pruned."""
    left: tuple[str, ...] = ()
    """Objects that Git does not have any more: requiresPruning."""
    exists: bool = True

    @property
    def is_good(self) -> bool:
        """Whether all that Git has is applied, healthy, and the operation is over."""
        return self.exists and (self.sync, self.health, self.phase) == ("Synced", "Healthy", "Succeeded")

    def __str__(self) -> str:
        if not self.exists:
            return "deleted"
        words = " ".join(word for word in (self.sync, self.health, self.phase) if word) or "not compared yet"
        return f"{words}: {self.message}" if self.message and self.phase != "Succeeded" else words


def state(application: Object, at: float) -> State:
    """The state that an Application object shows; at is in seconds.

    Source: the fields of Application v1alpha1, Argo CD's documentation of its status.
    """
    metadata, spec, status = application["metadata"], application.get("spec", {}), application.get("status", {})
    wave = metadata.get("annotations", {}).get(WAVE)
    compared, operation = status.get("sync", {}), status.get("operationState") or {}
    resources = status.get("resources") or ()
    applied = (operation.get("syncResult") or {}).get("resources") or ()
    return State(
        at=at,
        name=metadata["name"],
        cluster=spec.get("project", ""),
        wave=None if wave is None else int(wave),
        sync=compared.get("status", ""),
        health=status.get("health", {}).get("status", ""),
        phase=operation.get("phase", ""),
        message=operation.get("message", ""),
        revision=compared.get("revision") or ",".join(compared.get("revisions") or ()),
        conditions=tuple((row["type"], row.get("message", "")) for row in status.get("conditions") or ()),
        refused=tuple((_object(row), row.get("message", "")) for row in applied if _has_failed(row)),
        differing=tuple(_object(row) for row in resources if _differs(row) and not row.get("requiresPruning")),
        left=tuple(_object(row) for row in resources if row.get("requiresPruning")),
    )


def _has_failed(row: Mapping[str, str]) -> bool:
    return row.get("status") == "SyncFailed" or row.get("hookPhase") in ("Failed", "Error")


def _differs(row: Mapping[str, str]) -> bool:
    return row.get("status") == "OutOfSync"


def _object(row: Mapping[str, str]) -> str:
    where = f"{row['namespace']}/" if row.get("namespace") else ""
    return f"{row.get('kind', '')} {where}{row.get('name', '')}"


class Timeline:
    """States in the order in which the API server had them; equal states that follow one another are one."""

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._states: list[State] = []
        self._last: dict[str, State] = {}
        for known in states:
            self.add(known)

    def add(self, seen: State) -> bool:
        """Appends a state; False where it is the state that the Application has already."""
        known = self._last.get(seen.name)
        if known is not None and replace(seen, at=known.at) == known:
            return False
        self._states.append(seen)
        self._last[seen.name] = seen
        return True

    def __iter__(self) -> Iterator[State]:
        return iter(tuple(self._states))

    @property
    def last(self) -> dict[str, State]:
        """The last state of each Application that exists, by name."""
        return {name: seen for name, seen in sorted(self._last.items()) if seen.exists}

    def of(self, name: str) -> tuple[State, ...]:
        """The states of one Application."""
        return tuple(seen for seen in self if seen.name == name)

    def at(self, moment: float) -> dict[str, State]:
        """The state of each Application that existed at a moment, by name; moment is in seconds."""
        found = {seen.name: seen for seen in self if seen.at <= moment}
        return {name: seen for name, seen in found.items() if seen.exists}

    def first_good(self, name: str) -> float | None:
        """Seconds until the Application was Synced, Healthy and Succeeded for the first time."""
        return next((seen.at for seen in self.of(name) if seen.is_good), None)

    def spans(self, name: str, end: float) -> Iterator[tuple[State, float]]:
        """Each state of an Application with the second at which it ended; the last one ends at `end`."""
        states = self.of(name)
        for seen, following in pairwise(states):
            yield seen, following.at
        if states:
            yield states[-1], max(end, states[-1].at)
