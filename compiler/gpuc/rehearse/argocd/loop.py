"""Something that is done again and again beside the rehearsal, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.client import HTTPException

from gpuc.rehearse.client import ApiError
from gpuc.rehearse.process import ProgramError


class Loop:
    """Repeats a turn until it is stopped; a turn that the API server refuses is repeated, any other failure ends it."""

    def __init__(self, name: str, turn: Callable[[], None], pause_s: float) -> None:
        self._name = name
        self._turn = turn
        self._pause_s = pause_s
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.refused = ""
        """What the API server answered the last turn that it refused."""

    def start(self) -> None:
        """Begins with the first turn."""
        self._thread.start()

    def stop(self) -> None:
        """Returns after the turn that runs now."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def require_alive(self) -> None:
        """Raises: ProgramError when a turn has failed."""
        if self._failure is not None:
            raise ProgramError(f"{self._name} ended: {self._failure!r}") from self._failure

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._turn()
            except (ApiError, OSError, HTTPException) as error:
                self.refused = str(error)
            except Exception as error:  # the thread has no caller: require_alive raises it in the main one
                self._failure = error
                return
            self._stopped.wait(self._pause_s)
