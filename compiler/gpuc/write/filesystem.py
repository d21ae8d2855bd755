"""Reads and changes files below a root folder. Symbolic links are never followed.

Each folder of a path is opened relative to its parent folder. So a symbolic link that another process creates during
the operation has no effect. Only the path of the root itself may contain links, because the user gave this path.
"""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from threading import Thread

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK is set because opening a named pipe would wait for a process that writes to the pipe."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ATTEMPTS_PER_SECOND = 20
SYNC_THREADS = 8


class RefusedError(Exception):
    """A path is not a regular file, or one of its folders is a link."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


class BusyError(Exception):
    """Another process has locked the folder."""


def before_change(verb: str, path: str) -> None:
    """Does nothing. SafeDir calls this function before each change, so that tests can replace it and cause errors."""


class SafeDir:
    """Access to the files below a root folder, as a context manager. Paths are relative to the root and use slashes."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> "SafeDir":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def read(self, path: str) -> bytes | None:
        """Returns the bytes of a file; None if the file does not exist.

        Raises:
            RefusedError: when the path is a link or not a regular file.
        """
        try:
            with self._parent_folder(path) as (folder, name):
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
        """Yields all files and links below a folder, sorted. Links are not followed."""
        for name, is_folder in self.entries(folder):
            if is_folder:
                yield from self.files(f"{folder}/{name}")
            else:
                yield f"{folder}/{name}"

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """Returns the names in a folder, sorted, and for each name whether it is a folder. A link is no folder.

        The list is empty if the folder does not exist.

        Raises:
            RefusedError: when the folder is a link or a file.
        """
        try:
            with self._parent_folder(f"{folder}/.") as (handle, _), os.scandir(handle) as entries:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except FileNotFoundError:
            return []

    def create(self, path: str, data: bytes) -> None:
        """Writes a new file and creates its missing folders."""
        with self._parent_folder(path, create=True) as (folder, name):
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
        """Waits until the content of files is on the disk.

        Several threads wait for different files, because a file system writes its journal once for all waiting threads.
        """
        waiting, errors = list(paths), list[BaseException]()
        remaining = iter(waiting)

        def work() -> None:
            try:
                for path in remaining:
                    self._sync(path)
            except BaseException as error:
                errors.append(error)

        threads = [Thread(target=work) for _ in range(SYNC_THREADS if len(waiting) > SYNC_THREADS else 0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        work()
        if errors:
            raise errors[0]

    def _sync(self, path: str) -> None:
        with self._parent_folder(path) as (folder, name):
            before_change("fsync", path)
            file = os.open(name, FILE, dir_fd=folder)
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def replace(self, path: str, before: bytes, after: bytes) -> bool:
        """Replaces the content of a file: writes a new file with the same permissions, and renames the new file.

        Returns:
            False if the file does not have the content `before` any more. The file then stays as it is.

        Raises:
            RefusedError: when the path is a link or not a regular file.
            OSError: when the file system rejects an operation. The file then stays as it is.
        """
        parent, slash, name = path.rpartition("/")
        draft = f"{parent}{slash}.{name}.{os.getpid()}.gpuc"
        try:
            self.create(draft, after)
            self._copy_permissions(path, draft)
            self.sync([draft])
            if self.read(path) != before:
                return False
            self.rename(draft, path)
        finally:
            with contextlib.suppress(OSError):
                self.remove(draft)
        return True

    def rename(self, source: str, target: str) -> None:
        """Renames a file. A file at the target is replaced, and missing folders of the target are created."""
        with (
            self._parent_folder(source) as (source_folder, old_name),
            self._parent_folder(target, create=True) as (target_folder, new_name),
        ):
            before_change("rename", target)
            os.rename(old_name, new_name, src_dir_fd=source_folder, dst_dir_fd=target_folder)

    def remove(self, path: str) -> None:
        """Removes a file. If its folders are then empty, removes them too."""
        with self._parent_folder(path) as (folder, name):
            before_change("unlink", path)
            os.unlink(name, dir_fd=folder)
        self.remove_empty_folders(path.rpartition("/")[0])

    def remove_empty_folders(self, folder: str) -> None:
        """Removes an empty folder and its empty parents. Folders directly below the root stay."""
        while "/" in folder:
            try:
                with self._parent_folder(folder) as (parent, name):
                    before_change("rmdir", folder)
                    os.rmdir(name, dir_fd=parent)
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
            BusyError: when another process still has the lock after wait_seconds.
        """
        with self._parent_folder(f"{folder}/.", create=True) as (handle, _):
            for attempts_left in range(int(wait_seconds * ATTEMPTS_PER_SECOND), -1, -1):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if attempts_left == 0:
                        raise BusyError from None
                    time.sleep(1 / ATTEMPTS_PER_SECOND)
            yield

    def _copy_permissions(self, source: str, target: str) -> None:
        with self._parent_folder(source) as (folder, name):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        with self._parent_folder(target) as (folder, name):
            before_change("chmod", target)
            file = os.open(name, FILE, dir_fd=folder)
            try:
                os.fchmod(file, stat.S_IMODE(mode))
            finally:
                os.close(file)

    @contextlib.contextmanager
    def _parent_folder(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Opens the parent folder of a path, and yields its file descriptor and the last step of the path.

        Args:
            create: whether to create missing folders.
        """
        *folders, name = path.split("/")
        handle = os.dup(self._root)
        try:
            for depth, step in enumerate(folders):
                parent, handle = handle, _open_folder(step, handle, "/".join(folders[: depth + 1]), create=create)
                os.close(parent)
            yield handle, name
        finally:
            os.close(handle)


def _open_folder(name: str, parent: int, path: str, *, create: bool) -> int:
    """Opens a folder in an open parent folder, and creates a missing folder if `create` is true."""
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
        before_change("mkdir", path)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        return _open_folder(name, parent, path, create=False)
    except OSError as error:
        raise _refusal(error, path) from error


def _refusal(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return RefusedError(path, "is a link, or a file where a folder is expected")
    if isinstance(error, PermissionError):
        return RefusedError(path, "cannot be opened: permission denied")
    return error
