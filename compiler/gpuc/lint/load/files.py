"""Which files a path means, and their texts; nothing that stands in a tree hangs the reader or fills its memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gpuc.diagnostics.usage import UsageError

SUFFIXES = (".yaml", ".yml", ".json")
SIZE_MAX_BYTES = 256 << 20
"""Longer files are no text that people keep, and no dump of a cluster that this machine need judge at once."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class UnreadableError(Exception):
    """A file has no text; the error's own text says why, for the user."""


def files_below(path: str) -> Iterator[str]:
    """A file that is named, whatever its name; of a folder the YAML and JSON files, sorted, hidden folders left out.

    Folders that cannot be opened are among them, so that whoever reads them can say so. Links to folders are not
    followed, as kubectl does not.

    Raises:
        UsageError: when there is nothing at the path.
    """
    if not _is_folder(path):
        yield path
        return
    closed: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(SUFFIXES))
    yield from (str(error.filename) for error in closed)


def text_of(file: str) -> str:
    """The text of a file, without a byte order mark.

    A pipe that somebody names (`<(kubectl get ...)`) is read to its end; of what has no end, no more than the bound.

    Raises:
        UnreadableError: when there is no such file, nobody may read it, it is too large or no UTF-8.
    """
    try:
        data = _bytes(file)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise UnreadableError(str(error)) from None
    if len(data) > SIZE_MAX_BYTES:
        raise UnreadableError(f"it is larger than {SIZE_MAX_BYTES >> 20} MiB")
    if data.startswith(_UTF16):
        raise UnreadableError("it is UTF-16, as PowerShell writes it, and not UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"it is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}") from None


def _bytes(file: str) -> bytes:
    # Opening a pipe without a writer would wait for one for ever; afterwards a reader waits, as it should.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as stream:
        mode = os.fstat(number).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not os.isatty(number) and not _is_null(file)):
            raise UnreadableError("it is a device")
        os.set_blocking(number, True)
        data = stream.read(SIZE_MAX_BYTES + 1)
    if not data and stat.S_ISFIFO(mode):
        raise UnreadableError("it is a pipe, and nobody writes into it")
    return data


def _is_null(file: str) -> bool:
    return os.path.realpath(file) == os.devnull


def _is_folder(path: str) -> bool:
    """Whether a path is a folder.

    Raises:
        UsageError: when there is nothing at the path, or nobody can look.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        what = f"{path} is a link to nothing" if os.path.islink(path) else f"no file {path}"
        raise UsageError(what) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
