"""Writes the files of the option --output. gpuc opens the files before the compile, and replaces them at the end."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG

from gpuc.diagnostics.usage import UsageError


@contextmanager
def report_files(output: Iterable[tuple[str, str]]) -> "Iterator[list[ReportFile]]":
    """Opens all files of the option --output. So gpuc reports a file that it cannot write before a command runs.

    A file keeps its old content if the `with` block ends before a new report is written.

    Args:
        output: the format and the file of each report.

    Raises:
        UsageError: when a file cannot be written, and when two reports have the same file.
    """
    files: list[ReportFile] = []
    try:
        for form, file in output:
            if any(os.path.realpath(file) == str(other.target) for other in files):
                raise UsageError(f"two --output options name the same file: {file}")
            files.append(ReportFile(form, file))
        yield files
    finally:
        for report in files:
            report.discard()


class ReportFile:
    """A file for a report. At any time, the file contains either the complete old or the complete new report.

    Raises:
        UsageError: when the file cannot be written.
    """

    def __init__(self, format: str, file: str) -> None:  # noqa: A002
        self.format = format
        self.target = Path(os.path.realpath(file))
        self._draft: Path | None = None
        self._descriptor: int | None = None
        try:
            self._descriptor = self._open()
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from None

    def write(self, text: str) -> None:
        """Replaces the content of the file with the text. The file never contains only a part of the text."""
        assert self._descriptor is not None, "a report is written once"
        descriptor, self._descriptor = self._descriptor, None
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        if self._draft is not None:
            self._draft.replace(self.target)
            self._draft = None

    def discard(self) -> None:
        """Removes the temporary file if no report was written."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._draft is not None:
            self._draft.unlink(missing_ok=True)
            self._draft = None

    def _open(self) -> int:
        """Opens a temporary file in the folder of the target. Opens the target if it is a pipe or device."""
        if self.target.exists():
            if not S_ISREG(self.target.stat().st_mode):
                return os.open(self.target, os.O_WRONLY)
            os.close(os.open(self.target, os.O_WRONLY))
        draft = self.target.with_name(f".{self.target.name}.{os.getpid()}.tmp")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self._draft = draft
        return descriptor
