"""Files below a root folder: read and changed without ever following a symbolic link.

Each folder on the way is opened by its own name from the one above, so a link that somebody puts there between
a look and a step leads nowhere. The root itself may be reached through links: the user named it.
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
"""Without waiting: a named pipe in the place of a file must not hold us."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TURNS_PER_SECOND = 20


class RefusedError(Exception):
    """A path that is not a plain file in plain folders below the root."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path = path
        self.why = why


class BusyError(Exception):
    """Another process holds the tree."""


def before_change(verb: str, path: str) -> None:
    """Called before every single change of the file system: the place where a test puts its fault."""


class SafeDir:
    """The files below one root; paths are relative to it, with slashes. Closed by leaving the context."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> SafeDir:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, None where there is none.

        Raises:
            RefusedError: when a link, or anything but a plain file, stands there.
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
            raise RefusedError(path, "is no plain file")
        with open(file, "rb") as opened:
            return opened.read()

    def files(self, folder: str) -> Iterator[str]:
        """Every path beneath a folder that is no folder itself, sorted; links are named and not followed."""
        for name, is_folder in self.entries(folder):
            if is_folder:
                yield from self.files(f"{folder}/{name}")
            else:
                yield f"{folder}/{name}"

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """What stands in a folder, sorted: its name, and whether it is a folder and no link to one.

        Raises:
            RefusedError: when the folder is a link or a file.
        """
        try:
            with self._folder(f"{folder}/.") as (handle, _), os.scandir(handle) as found:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
        except FileNotFoundError:
            return []

    def create(self, path: str, data: bytes) -> None:
        """Writes a new file, and the folders that it needs."""
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

    def settle(self, paths: Iterable[str]) -> None:
        """Waits until files are on the disk. Many at once, after all were written, cost little more than one."""
        for path in paths:
            with self._folder(path) as (folder, name):
                before_change("fsync", path)
                file = os.open(name, FILE, dir_fd=folder)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)

    def rename(self, source: str, target: str) -> None:
        """Puts one file in the place of another, or of none, in one step; makes the folders that it needs."""
        with self._folder(source) as (here, old), self._folder(target, make=True) as (there, new):
            before_change("rename", target)
            os.rename(old, new, src_dir_fd=here, dst_dir_fd=there)

    def remove(self, path: str) -> None:
        """Removes a file, and the folders above it that are empty then."""
        with self._folder(path) as (folder, name):
            before_change("unlink", path)
            os.unlink(name, dir_fd=folder)
        self.prune(path.rpartition("/")[0])

    def prune(self, folder: str) -> None:
        """Removes a folder and those above it as long as they are empty, up to those right below the root."""
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
    def alone(self, folder: str, wait_seconds: float) -> Iterator[None]:
        """Holds a folder, made if need be, against every other process that does the same.

        Raises:
            BusyError: when another one does not let go within the time.
        """
        with self._folder(f"{folder}/.", make=True) as (handle, _):
            for turn in range(int(wait_seconds * TURNS_PER_SECOND), -1, -1):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if turn == 0:
                        raise BusyError from None
                    time.sleep(1 / TURNS_PER_SECOND)
            yield

    @contextlib.contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder of a path and the name in it."""
        *folders, name = path.split("/")
        handle = os.dup(self._root)
        try:
            for depth, step in enumerate(folders):
                above, handle = handle, _opened(step, handle, "/".join(folders[: depth + 1]), make=make)
                os.close(above)
            yield handle, name
        finally:
            os.close(handle)


def _opened(name: str, above: int, path: str, *, make: bool) -> int:
    """The handle of a folder in an open one; makes it where it is missing."""
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
        before_change("mkdir", path)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=above)
        return _opened(name, above, path, make=False)
    except OSError as error:
        raise _refusal(error, path) from error


def _refusal(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return RefusedError(path, "is a link, or a file in the place of a folder")
    if isinstance(error, PermissionError):
        return RefusedError(path, "may not be opened")
    return error
