"""A loop in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException

from gpuc.rehearse.client import ApiError
from gpuc.rehearse.process import ProgramError


class BackgroundLoop:
    """Calls a function repeatedly. Errors of the API server do not end the loop; any other exception ends the loop."""

    def __init__(self, name: str, step: Callable[[], None], pause_s: float) -> None:
        self._name = name
        self._step = step
        self._pause_s = pause_s
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread of the loop."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread after the current call of the function, and waits for the end of the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def require_alive(self) -> None:
        """Raises a ProgramError if an exception has ended the loop."""
        if self._failure is not None:
            raise ProgramError(f"{self._name} ended: {self._failure!r}") from self._failure

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with suppress(ApiError, OSError, HTTPException):
                    self._step()
            except Exception as error:  # require_alive raises the error in the main thread
                self._failure = error
                return
            self._stopped.wait(self._pause_s)
