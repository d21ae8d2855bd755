"""The states of Applications over time. Checks read the timeline; tests construct it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuc.kubernetes.argocd import WAVE
from gpuc.rehearse.client import Object

ObjectMessage = tuple[str, str]
"""("Kind namespace/name" of an object or the type of a condition, message)."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of an Application at a moment."""

    at: float
    """Seconds since the watch began."""
    name: str
    cluster: str = ""
    """The AppProject, which has the name of the cluster."""
    wave: int | None = None
    """The sync wave, or None for the root Application."""
    sync: str = ""
    """Synced, OutOfSync or Unknown. Empty until Argo CD has compared the Application."""
    health: str = ""
    phase: str = ""
    """Phase of the last operation: Running, Succeeded, Failed, Error or Terminating. Empty before the first one."""
    message: str = ""
    """Message of the last operation."""
    revision: str = ""
    """The commit or chart version of the last comparison."""
    conditions: tuple[ObjectMessage, ...] = ()
    """(type, message) of the conditions."""
    refused: tuple[ObjectMessage, ...] = ()
    """Objects that the last operation could not apply, with the message."""
    differing: tuple[str, ...] = ()
    """Objects that differ from Git and do not require pruning."""
    left: tuple[str, ...] = ()
    """Objects that require pruning because they are not in Git any more."""
    exists: bool = True

    @property
    def is_good(self) -> bool:
        """Whether the Application is Synced and Healthy, and its last operation Succeeded."""
        return self.exists and (self.sync, self.health, self.phase) == ("Synced", "Healthy", "Succeeded")

    def __str__(self) -> str:
        if not self.exists:
            return "deleted"
        words = " ".join(word for word in (self.sync, self.health, self.phase) if word) or "not compared yet"
        return f"{words}: {self.message}" if self.message and self.phase != "Succeeded" else words


def state_of(application: Object, at: float) -> State:
    """The state of an Application object; at is in seconds.

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
    """States in the order in which the API server stored them, without consecutive duplicates."""

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._states: list[State] = []
        self._last: dict[str, State] = {}
        for known in states:
            self.add(known)

    def add(self, state: State) -> bool:
        """Appends a state. Returns False if the Application already has this state."""
        known = self._last.get(state.name)
        if known is not None and replace(state, at=known.at) == known:
            return False
        self._states.append(state)
        self._last[state.name] = state
        return True

    def __iter__(self) -> Iterator[State]:
        return iter(tuple(self._states))

    @property
    def last(self) -> dict[str, State]:
        """The last states of the existing Applications, by name."""
        return {name: state for name, state in sorted(self._last.items()) if state.exists}

    def of(self, name: str) -> tuple[State, ...]:
        """The states of an Application."""
        return tuple(state for state in self if state.name == name)

    def at(self, moment: float) -> dict[str, State]:
        """The states of the Applications that existed at a moment, by name; moment is in seconds."""
        found = {state.name: state for state in self if state.at <= moment}
        return {name: state for name, state in found.items() if state.exists}

    def spans(self, name: str, end: float) -> Iterator[tuple[State, float]]:
        """(state, end of the state in seconds) of an Application. The last state ends at `end`."""
        states = self.of(name)
        for state, following in pairwise(states):
            yield state, following.at
        if states:
            yield states[-1], max(end, states[-1].at)
