"""Reads specs in a child process while this one imports what comes next: a seventh of a check on two cores."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from compiler.source import Source

LENGTH_BYTES = 4


class Reading:
    """The sources of a run, in the order of its files; read here where there is no child."""

    def __init__(self, root: Path, files: Sequence[str] | None) -> None:
        self._root = root
        self._named = files
        self._child = 0
        self._answers: BinaryIO | None = None

    @classmethod
    def ahead(cls, root: Path, files: Sequence[str] | None) -> Reading:
        """A reading that a child process has begun, where this one has no other thread that a fork would lose."""
        reading = cls(root, files)
        threading = sys.modules.get("threading")
        if threading is not None and threading.active_count() > 1:
            return reading
        reads, writes = os.pipe()
        try:
            reading._child = os.fork()
        except OSError:
            os.close(reads)
            os.close(writes)
            return reading
        if reading._child == 0:
            os.close(reads)
            _serve(root, files, writes)
        os.close(writes)
        reading._answers = os.fdopen(reads, "rb")
        return reading

    def files(self) -> list[str]:
        """The spec files of the run, in order; asked for once, before the sources."""
        if self._answers is not None and isinstance(answer := self._next(), list):
            return answer
        return _files(self._root, self._named)

    def source(self, file: str) -> Source:
        """The source of the next file.

        Raises:
            Stop: with everything that is wrong with it.
        """
        from compiler.finding import Stop
        from compiler.source import Source, read

        answer = self._next() if self._answers is not None else None
        if isinstance(answer, Stop):
            raise answer
        if isinstance(answer, Source) and answer.file == file:
            return answer
        return read(self._root, file)  # the child died: whatever it met, this process meets and tells

    def close(self) -> None:
        """Ends the child, whatever it is doing."""
        if self._answers is not None:
            self._answers.close()
            self._answers = None
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)

    def _next(self) -> object:
        import pickle

        assert self._answers is not None, "the child is asked"
        length = self._answers.read(LENGTH_BYTES)
        data = self._answers.read(int.from_bytes(length, "big")) if len(length) == LENGTH_BYTES else b""
        try:
            return pickle.loads(data)
        except (EOFError, pickle.UnpicklingError):
            return None


def _files(root: Path, named: Sequence[str] | None) -> list[str]:
    from compiler.source import cluster_files

    return cluster_files(root) if named is None else list(named)


def _serve(root: Path, named: Sequence[str] | None, pipe: int) -> None:
    """The child: writes the list of files, then a source or a Stop for each, and ends without returning."""
    try:
        import pickle

        from compiler.finding import Stop
        from compiler.source import read

        with os.fdopen(pipe, "wb") as answers:
            files = _files(root, named)
            for answer in (None, *files):
                try:
                    said: object = files if answer is None else read(root, answer)
                except Stop as stop:
                    said = stop
                data = pickle.dumps(said, pickle.HIGHEST_PROTOCOL)
                answers.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
                answers.flush()
    finally:
        os._exit(0)
