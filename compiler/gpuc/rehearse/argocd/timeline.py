"""The states of Applications over time, which the checks read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuc.kubernetes.argocd import WAVE
from gpuc.rehearse.client import Object

ObjectMessage = tuple[str, str]
"""(object as "Kind namespace/name" or type of a condition, message)."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of an Application at a moment."""

    at: float
    """Seconds since the start of the watch."""
    name: str
    cluster: str = ""
    """The cluster that the Application belongs to, also for an Application of users with an AppProject of its own."""
    wave: int | None = None
    """The sync wave, or None for the root Application."""
    sync: str = ""
    """Synced, OutOfSync or Unknown. Empty until Argo CD has compared the Application."""
    health: str = ""
    phase: str = ""
    """Phase of the last operation: Running, Succeeded, Failed, Error or Terminating. Empty if there is none."""
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


def state_of(application: Object, at: float, clusters: Collection[str] = ()) -> State:
    """Returns the state of an Application object.

    Args:
        at: seconds since the start of the watch.
        clusters: the names of the clusters of the run.

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
        cluster=_cluster_of(spec.get("project", ""), clusters),
        wave=None if wave is None else int(wave),
        sync=compared.get("status", ""),
        health=status.get("health", {}).get("status", ""),
        phase=operation.get("phase", ""),
        message=operation.get("message", ""),
        revision=compared.get("revision") or ",".join(compared.get("revisions") or ()),
        conditions=tuple((row["type"], row.get("message", "")) for row in status.get("conditions") or ()),
        refused=tuple((_object(row), row.get("message", "")) for row in applied if _has_failed(row)),
        differing=tuple(_object(row) for row in resources if _differs(row)),
    )


def _cluster_of(project: str, clusters: Collection[str]) -> str:
    """Returns the cluster of an AppProject, which is named `<cluster>`, or `<cluster>-<name>` for objects of users."""
    found = [name for name in clusters if project == name or project.startswith(f"{name}-")]
    return max(found, key=len, default=project)


def _has_failed(row: Mapping[str, str]) -> bool:
    return row.get("status") == "SyncFailed" or row.get("hookPhase") in ("Failed", "Error")


def _differs(row: Mapping[str, str]) -> bool:
    return row.get("status") == "OutOfSync" and not row.get("requiresPruning")


def _object(row: Mapping[str, str]) -> str:
    """Returns "Kind namespace/name" of a resource in the status of an Application."""
    where = f"{row['namespace']}/" if row.get("namespace") else ""
    return f"{row.get('kind', '')} {where}{row.get('name', '')}"


class Timeline:
    """States in the order in which the API server stored the states. An unchanged state is stored once."""

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._states: list[State] = []
        self._last: dict[str, State] = {}
        for state in states:
            self.add(state)

    def add(self, state: State) -> bool:
        """Appends a state. Returns False if the last state of the Application is equal, except for the time."""
        last = self._last.get(state.name)
        if last is not None and replace(state, at=last.at) == last:
            return False
        self._states.append(state)
        self._last[state.name] = state
        return True

    def __iter__(self) -> Iterator[State]:
        return iter(tuple(self._states))

    @property
    def last(self) -> dict[str, State]:
        """Last states of the existing Applications, by name."""
        return {name: state for name, state in sorted(self._last.items()) if state.exists}

    def of(self, name: str) -> tuple[State, ...]:
        """Returns the states of an Application, oldest first."""
        return tuple(state for state in self if state.name == name)

    def at(self, moment: float) -> dict[str, State]:
        """Returns the states of the Applications that existed at a moment, by name. moment is in seconds."""
        states = {state.name: state for state in self if state.at <= moment}
        return {name: state for name, state in states.items() if state.exists}

    def spans(self, name: str, end: float) -> Iterator[tuple[State, float]]:
        """Yields the states of an Application with their end in seconds. The last state ends at `end`."""
        states = self.of(name)
        for state, following in pairwise(states):
            yield state, following.at
        if states:
            yield states[-1], max(end, states[-1].at)
