"""Reads and changes files below a root folder without following symbolic links.

Each folder of a path is opened relative to its parent folder. So a link that another process creates in the meantime
has no effect. Only the path of the root itself may contain links, because the user gave that path.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK, because opening a named pipe would wait for its writer."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ATTEMPTS_PER_SECOND = 20


class RefusedError(Exception):
    """A path is not a regular file in regular folders below the root."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


class BusyError(Exception):
    """Another process has locked the folder."""


def before_change(verb: str, path: str) -> None:
    """Does nothing. It is called before each change of the file system, and tests replace it to inject errors."""


class SafeDir:
    """A context manager for the files below a root. Paths are relative to the root, with slashes."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> SafeDir:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def read(self, path: str) -> bytes | None:
        """Returns the bytes of a file; None if it does not exist.

        Raises:
            RefusedError: when the path is a link or not a regular file.
        """
        try:
            with self._folder(path) as (folder, name):
                file = os.open(name, FILE, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal(error, path) from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise RefusedError(path, "is not a regular file")
        with open(file, "rb") as opened:
            return opened.read()

    def files(self, folder: str) -> Iterator[str]:
        """Yields every file below a folder, sorted. Links are yielded but not followed."""
        for name, is_folder in self.entries(folder):
            if is_folder:
                yield from self.files(f"{folder}/{name}")
            else:
                yield f"{folder}/{name}"

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """Returns the entries of a folder, sorted: the name, and whether the entry is a folder and not a link.

        Raises:
            RefusedError: when the folder is a link or a file.
        """
        try:
            with self._folder(f"{folder}/.") as (handle, _), os.scandir(handle) as entries:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except FileNotFoundError:
            return []

    def create(self, path: str, data: bytes) -> None:
        """Writes a new file and creates its missing folders."""
        with self._folder(path, make=True) as (folder, name):
            before_change("create", path)
            file = os.open(name, NEW_FILE, 0o666, dir_fd=folder)
            try:
                rest = memoryview(data)
                while rest:
                    before_change("write", path)
                    rest = rest[os.write(file, rest) :]
            finally:
                os.close(file)

    def sync(self, paths: Iterable[str]) -> None:
        """Waits until files are on the disk. To sync many files after all writes costs little more than one file."""
        for path in paths:
            with self._folder(path) as (folder, name):
                before_change("fsync", path)
                file = os.open(name, FILE, dir_fd=folder)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)

    def rename(self, source: str, target: str) -> None:
        """Renames a file atomically and replaces the target. Creates the missing folders of the target first."""
        with self._folder(source) as (here, old), self._folder(target, make=True) as (there, new):
            before_change("rename", target)
            os.rename(old, new, src_dir_fd=here, dst_dir_fd=there)

    def remove(self, path: str) -> None:
        """Removes a file and its parent folders that become empty."""
        with self._folder(path) as (folder, name):
            before_change("unlink", path)
            os.unlink(name, dir_fd=folder)
        self.prune(path.rpartition("/")[0])

    def prune(self, folder: str) -> None:
        """Removes a folder and its parent folders while they are empty, except folders directly below the root."""
        while "/" in folder:
            try:
                with self._folder(folder) as (above, name):
                    before_change("rmdir", folder)
                    os.rmdir(name, dir_fd=above)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return
                raise
            folder = folder.rpartition("/")[0]

    @contextlib.contextmanager
    def locked(self, folder: str, wait_seconds: float) -> Iterator[None]:
        """Locks a folder against other processes that call this method. Creates the folder if it is missing.

        Raises:
            BusyError: when another process keeps its lock for longer than wait_seconds.
        """
        with self._folder(f"{folder}/.", make=True) as (handle, _):
            for attempts_left in range(int(wait_seconds * ATTEMPTS_PER_SECOND), -1, -1):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if attempts_left == 0:
                        raise BusyError from None
                    time.sleep(1 / ATTEMPTS_PER_SECOND)
            yield

    @contextlib.contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Opens the folder of a path and yields its handle and the last step of the path."""
        *folders, name = path.split("/")
        handle = os.dup(self._root)
        try:
            for depth, step in enumerate(folders):
                parent, handle = handle, _open_folder(step, handle, "/".join(folders[: depth + 1]), make=make)
                os.close(parent)
            yield handle, name
        finally:
            os.close(handle)


def _open_folder(name: str, parent: int, path: str, *, make: bool) -> int:
    """Opens a folder in an open parent folder; creates it first if it is missing and `make` is true."""
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
        before_change("mkdir", path)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        return _open_folder(name, parent, path, make=False)
    except OSError as error:
        raise _refusal(error, path) from error


def _refusal(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return RefusedError(path, "is a link, or a file where a folder is expected")
    if isinstance(error, PermissionError):
        return RefusedError(path, "cannot be opened: permission denied")
    return error
