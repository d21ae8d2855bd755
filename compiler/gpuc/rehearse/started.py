"""A base class for context managers that start programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Self


class Started(ABC):
    """A context manager that stops everything in reverse order, even if its start fails."""

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts everything, and registers each cleanup on the stack right after the start."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
