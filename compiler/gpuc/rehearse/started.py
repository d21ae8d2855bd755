"""A base class for context managers that start programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Self


class Started(ABC):
    """A context manager that starts programs, and stops them in reverse order, even if one of the starts fails."""

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts all programs. Pushes the stop of a program on the stack immediately after its start."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
