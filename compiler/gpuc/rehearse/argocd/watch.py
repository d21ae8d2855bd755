"""Watches all Applications of a control plane and records their states in a timeline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from gpuc.rehearse.argocd.timeline import State, Timeline, state_of
from gpuc.rehearse.client import ApiError, Client, Object

APPLICATION = ("argoproj.io/v1alpha1", "Application")
NAMESPACE = "argocd"
_WATCH_SECONDS = 5
_POLL_SECONDS = 0.1
_GONE = 410


class Watch:
    """A watch of all Applications: a context manager that records their states until the block ends.

    The API server sends changes in the order in which it stored them. So the timeline has the states of different
    Applications in the right order.
    """

    def __init__(self, client: Client, timeline: Timeline | None = None) -> None:
        self.timeline = timeline if timeline is not None else Timeline()
        self._client = client
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
        """Seconds since the watch began."""
        return time.monotonic() - self._began

    def until(self, holds: Callable[[], bool], limit_s: float) -> float | None:
        """Seconds until a condition holds, or None if it does not hold within limit_s.

        Raises:
            ApiError: if the watch failed.
        """
        started = self.now
        while True:
            if self._error:
                raise self._error
            if holds():
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
        """Lists the Applications and watches them until the resource version expires."""
        found, version = self._client.list_with_version(*APPLICATION, NAMESPACE)
        known = {application["metadata"]["name"] for application in found}
        for name in self.timeline.last.keys() - known:
            self._gone(name)
        for application in found:
            self._add(application)
        while not self._ended.is_set():
            try:
                for event, application in self._client.watch(*APPLICATION, NAMESPACE, version, _WATCH_SECONDS):
                    version = application["metadata"]["resourceVersion"]
                    if event == "DELETED":
                        self._gone(application["metadata"]["name"])
                    elif event != "BOOKMARK":
                        self._add(application)
            except ApiError as error:
                if error.code == _GONE:
                    return
                raise

    def _add(self, application: Object) -> None:
        self.timeline.add(state_of(application, self.now))

    def _gone(self, name: str) -> None:
        self.timeline.add(State(at=self.now, name=name, exists=False))
