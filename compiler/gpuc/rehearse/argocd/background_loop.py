"""A loop in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.client import HTTPException

from gpuc.rehearse.client import ApiError
from gpuc.rehearse.process import ProgramError


class BackgroundLoop:
    """Calls a function repeatedly. After an error of the API server the loop continues; any other error ends it."""

    def __init__(self, name: str, step: Callable[[], None], pause_s: float) -> None:
        self._name = name
        self._step = step
        self._pause_s = pause_s
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.refused = ""
        """The last error of the API server."""

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Waits for the end of the current call and stops the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def require_alive(self) -> None:
        """Raises: ProgramError if the loop ended with an error."""
        if self._failure is not None:
            raise ProgramError(f"{self._name} ended: {self._failure!r}") from self._failure

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._step()
            except (ApiError, OSError, HTTPException) as error:
                self.refused = str(error)
            except Exception as error:  # require_alive raises the error in the main thread
                self._failure = error
                return
            self._stopped.wait(self._pause_s)
