"""What runs from its start to the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Self


class Started(ABC):
    """A context manager that ends all that it began, the latest first, also where its start fails half-way."""

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts everything; what has to be ended goes on the stack as soon as it runs."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
