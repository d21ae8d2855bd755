"""Watches all Applications of a control plane and records the states of the Applications in a timeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from types import TracebackType

from gpuc.rehearse.argocd.timeline import State, Timeline, state_of
from gpuc.rehearse.client import ApiError, Client, Object

APPLICATION = ("argoproj.io/v1alpha1", "Application")
NAMESPACE = "argocd"
_WATCH_SECONDS = 5
_POLL_SECONDS = 0.1
_GONE = 410


class Watch:
    """A context manager that records the states of all Applications until the `with` block ends.

    The API server sends changes in the order of their storage. So the order of states in the timeline is correct across
    Applications.
    """

    def __init__(self, client: Client, clusters: Collection[str] = (), timeline: Timeline | None = None) -> None:
        """Prepares the watch; clusters are the names of the clusters of the run."""
        self.timeline = timeline if timeline is not None else Timeline()
        self._client = client
        self._clusters = clusters
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(timeout=_WATCH_SECONDS + 1)

    @property
    def now(self) -> float:
        """Seconds since the start of the watch."""
        return time.monotonic() - self._began

    def until(self, condition: Callable[[], bool], limit_s: float) -> float | None:
        """Waits until the condition is True. Returns the seconds, or None if the condition is not True within limit_s.

        Raises:
            ApiError: if the watch failed.
        """
        started = self.now
        while True:
            if self._error:
                raise self._error
            if condition():
                return self.now - started
            if self.now - started > limit_s:
                return None
            time.sleep(_POLL_SECONDS)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self._follow()
        except Exception as error:
            if not self._ended.is_set():
                self._error = error

    def _follow(self) -> None:
        """Lists the Applications, then records the changes of Applications until the resource version expires."""
        applications, version = self._client.list_with_version(*APPLICATION, NAMESPACE)
        existing = {application["metadata"]["name"] for application in applications}
        for name in self.timeline.last.keys() - existing:
            self._add_deletion(name)
        for application in applications:
            self._add(application)
        while not self._ended.is_set():
            try:
                for event, application in self._client.watch(*APPLICATION, NAMESPACE, version, _WATCH_SECONDS):
                    version = application["metadata"]["resourceVersion"]
                    if event == "DELETED":
                        self._add_deletion(application["metadata"]["name"])
                    elif event != "BOOKMARK":
                        self._add(application)
            except ApiError as error:
                if error.code == _GONE:
                    return
                raise

    def _add(self, application: Object) -> None:
        self.timeline.add(state_of(application, self.now, self._clusters))

    def _add_deletion(self, name: str) -> None:
        self.timeline.add(State(at=self.now, name=name, exists=False))
