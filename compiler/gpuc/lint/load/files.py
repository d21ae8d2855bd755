"""Finds the files below a path and reads their text. Limits prevent that pipes and huge files block the reader."""

import os
import stat
from collections.abc import Iterator

from gpuc.diagnostics.usage import UsageError

SUFFIXES = (".yaml", ".yml", ".json")
SIZE_MAX_BYTES = 256 << 20
"""The limit for the size of a file. Files in repositories and dumps of clusters are smaller."""
STDIN = "-"
"""The path that means standard input."""
SETTINGS = "gpuc.yaml"
"""The name of the file with the settings of lint, which is not a manifest."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class UnreadableError(Exception):
    """A file cannot be read as text. The message is the reason, in words for the user."""


def files_below(path: str) -> Iterator[str]:
    """Yields the path itself if it is a file, or else the sorted paths of YAML and JSON files in the folder.

    A path that is a file may have any suffix. The function skips hidden folders, and does not follow links to folders,
    as kubectl. It also yields folders that cannot be opened, so that the caller reports an error about them.

    Raises:
        UsageError: when the path does not exist.
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
    """Returns the text of a file, without a byte order mark. For the name STDIN, the function reads standard input.

    The function reads a pipe such as `<(kubectl get ...)` to its end. It reads at most SIZE_MAX_BYTES of an endless
    stream.

    Raises:
        UnreadableError: when the file does not exist, is too large or is not UTF-8, or when permissions forbid reading.
    """
    try:
        data = _bytes("/dev/stdin" if file == STDIN else file)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the name
        raise UnreadableError(str(error)) from None
    if len(data) > SIZE_MAX_BYTES:
        raise UnreadableError(f"the file is larger than {SIZE_MAX_BYTES >> 20} MiB")
    if data.startswith(_UTF16):
        raise UnreadableError("the encoding is UTF-16, which PowerShell writes, and not UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"the text is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}"
        ) from None


def _bytes(file: str) -> bytes:
    # A blocking open of a pipe that has no writer never returns. Reading blocks again, until the writer has finished.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(number, "rb") as stream:
        mode = os.fstat(number).st_mode
        if stat.S_ISBLK(mode) or (
            stat.S_ISCHR(mode) and not os.isatty(number) and os.path.realpath(file) != os.devnull
        ):
            raise UnreadableError("the path is a device")
        os.set_blocking(number, True)
        data = stream.read(SIZE_MAX_BYTES + 1)
    if not data and stat.S_ISFIFO(mode):
        raise UnreadableError("the path is a pipe that no process writes to")
    return data


def _is_folder(path: str) -> bool:
    """Returns whether a path is a folder.

    Raises:
        UsageError: when the path does not exist, or permissions forbid access.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        message = f"{path} is a link to a missing file" if os.path.islink(path) else f"no file {path}"
        raise UsageError(message) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
