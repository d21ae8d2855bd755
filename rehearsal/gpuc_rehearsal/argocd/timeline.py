"""Records the states of Applications over time. The checks read these states after the run."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuc.kubernetes.argocd import WAVE
from gpuc_rehearsal.argocd.servers import BackgroundLoop
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.process import poll

ObjectMessage = tuple[str, str]
"""(object as "Kind namespace/name" or type of a condition, message)."""
APPLICATION = ("argoproj.io/v1alpha1", "Application")
NAMESPACE = "argocd"
_WATCH_SECONDS = 5
_POLL_SECONDS = 0.1


class State(Struct, frozen=True):
    """The state of one Application at one moment, as Argo CD reports the state in the status of the object."""

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
    """Returns the state from an Application object.

    Args:
        at: seconds since the start of the watch.
        clusters: the names of the clusters in the rehearsal. The AppProject of an Application is named CLUSTER, or
            CLUSTER-NAME for objects of users.

    Source: the fields of Application v1alpha1, Argo CD's documentation of its status.
    """
    metadata, status = application["metadata"], application.get("status", {})
    project, wave = application.get("spec", {}).get("project", ""), metadata.get("annotations", {}).get(WAVE)
    compared, operation = status.get("sync", {}), status.get("operationState") or {}
    applied = (operation.get("syncResult") or {}).get("resources") or ()
    return State(
        at=at,
        name=metadata["name"],
        cluster=max((name for name in clusters if f"{project}-".startswith(f"{name}-")), key=len, default=project),
        wave=None if wave is None else int(wave),
        sync=compared.get("status", ""),
        health=status.get("health", {}).get("status", ""),
        phase=operation.get("phase", ""),
        message=operation.get("message", ""),
        conditions=tuple((row["type"], row.get("message", "")) for row in status.get("conditions") or ()),
        refused=tuple(
            (_object(row), row.get("message", ""))
            for row in applied
            if row.get("status") == "SyncFailed" or row.get("hookPhase") in ("Failed", "Error")
        ),
        differing=tuple(
            _object(row)
            for row in status.get("resources") or ()
            if row.get("status") == "OutOfSync" and not row.get("requiresPruning")
        ),
    )


def _object(row: Mapping[str, str]) -> str:
    """Returns "Kind namespace/name" of a resource in the status of an Application."""
    where = f"{row['namespace']}/" if row.get("namespace") else ""
    return f"{row.get('kind', '')} {where}{row.get('name', '')}"


class Timeline:
    """The states of Applications, in the order in which the API server stored them."""

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._states: list[State] = []
        for state in states:
            self.add(state)

    def add(self, state: State) -> None:
        """Adds a state to the timeline. Ignores a state that equals the last state of the Application, time aside."""
        last = next((known for known in reversed(self._states) if known.name == state.name), None)
        if last is None or replace(state, at=last.at) != last:
            self._states.append(state)

    def __iter__(self) -> Iterator[State]:
        return iter(tuple(self._states))

    @property
    def last(self) -> dict[str, State]:
        """The last state of each Application that still exists, by the name of the Application."""
        return dict(sorted(self.at(math.inf).items()))

    def of(self, name: str) -> tuple[State, ...]:
        """Returns the states of one Application, the oldest first."""
        return tuple(state for state in self if state.name == name)

    def of_cluster(self, cluster: str) -> "Timeline":
        """Returns a timeline with only the states of the Applications of one cluster."""
        names = {state.name for state in self if state.cluster == cluster}
        return Timeline(state for state in self if state.name in names)

    def at(self, moment: float) -> dict[str, State]:
        """Returns the states by name of the Applications that existed at a moment (seconds since the start)."""
        states = {state.name: state for state in self if state.at <= moment}
        return {name: state for name, state in states.items() if state.exists}

    def spans(self, name: str, end: float) -> Iterator[tuple[State, float]]:
        """Yields each state of an Application with the time when the state ended. The last state ends at `end`."""
        states = self.of(name)
        ends = [state.at for state in states[1:]]
        return zip(states, [*ends, max(end, states[-1].at)] if states else ends, strict=True)


class Watch(BackgroundLoop):
    """A context manager that records the states of all Applications until the `with` block ends.

    The API server sends changes in the order in which it stored them. So the order is also correct between different
    Applications.
    """

    def __init__(self, client: Client, clusters: Collection[str] = ()) -> None:
        """Prepares the watch; clusters are the names of the clusters of the run."""
        super().__init__("the watch of the Applications", self._follow, _POLL_SECONDS)
        self.timeline = Timeline()
        self._client = client
        self._clusters = clusters
        self._began = time.monotonic()
        self._version = ""

    @property
    def now(self) -> float:
        """The seconds from the start of the watch until now."""
        return time.monotonic() - self._began

    def until(self, condition: Callable[[], bool], limit_s: float) -> float | None:
        """Waits until a condition is true. Returns the waiting time in seconds; None after more than `limit_s` seconds.

        Raises ProgramError if the watch failed.
        """
        started = self.now

        def is_true() -> bool:
            self.require_alive()
            return condition()

        return self.now - started if poll(is_true, limit_s, _POLL_SECONDS) else None

    def _follow(self) -> None:
        """Records the changes of Applications for _WATCH_SECONDS. Lists the Applications at first and after an error.

        For example, the API server refuses a resource version that is too old.
        """
        version, self._version = self._version, ""
        if not version:
            applications, version = self._client.list_with_version(*APPLICATION, NAMESPACE)
            for name in self.timeline.last.keys() - {application["metadata"]["name"] for application in applications}:
                self.timeline.add(State(at=self.now, name=name, exists=False))
            for application in applications:
                self.timeline.add(state_of(application, self.now, self._clusters))
        for event, application in self._client.watch(*APPLICATION, NAMESPACE, version, _WATCH_SECONDS):
            version = application["metadata"]["resourceVersion"]
            if event == "DELETED":
                self.timeline.add(State(at=self.now, name=application["metadata"]["name"], exists=False))
            elif event != "BOOKMARK":
                self.timeline.add(state_of(application, self.now, self._clusters))
        self._version = version
