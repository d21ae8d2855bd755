"""Compares the output files of a cluster on the disk with gpuc.lock, which has their digests."""

import hashlib
import os
import time
from collections.abc import Collection, Iterable

import msgspec

from gpuc.manifest.cache_folder import cache_folder
from gpuc.pipeline.result_cache import replace_file
from gpuc.pipeline.snapshot import digest
from gpuc.write.lockfile import LOCKFILE, lock_file

SETTLED_NS = 2_000_000_000
"""The age in nanoseconds from which a file's time is trusted.

File systems round the times of files, so a younger file can change again and keep its time.
"""


def lock_digest(into: str, cluster: str) -> str:
    """Returns the sha256 of the gpuc.lock of a cluster; an empty text if the file cannot be read.

    Args:
        into: the folder that contains out/ and clusters/.
    """
    try:
        return hashlib.sha256(_bytes(into, lock_file(cluster))).hexdigest()
    except OSError:
        return ""


def intact_files(into: str, cluster: str) -> int:
    """Returns the number of output files of a cluster; 0 if a file is missing or differs from its digest in gpuc.lock.

    The bytes of the files are compared. If all files have the sizes and times of an earlier comparison, only their
    sizes and times are compared.
    """
    try:
        lock = _bytes(into, lock_file(cluster))
        files = msgspec.json.decode(lock)["files"]
        stamp = digest([hashlib.sha256(lock).hexdigest(), *_stamps(into, files)])
        memory = os.path.join(cache_folder("output"), digest([os.path.abspath(into), cluster])[:32])
        if _read_text(memory) == stamp:
            return len(files) + 1
        for file, entry in files.items():
            if hashlib.sha256(_bytes(into, file)).hexdigest() != entry["sha256"]:
                return 0
        if all(_is_settled(into, file) for file in files):
            replace_file(memory, stamp.encode())
        return len(files) + 1
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0


def unnamed_clusters(into: str, names: Collection[str]) -> set[str]:
    """Returns the names of clusters with a gpuc.lock below the folder `into` that are not in `names`."""
    try:
        folders = [entry for entry in os.scandir(f"{into}/out") if entry.name not in names]
    except OSError:
        return set()
    return {entry.name for entry in folders if os.path.lexists(f"{entry.path}/{LOCKFILE}")}


def _stamps(into: str, files: Iterable[str]) -> Iterable[str]:
    for file in files:
        found = os.lstat(f"{into}/{file}")
        yield f"{file} {found.st_mode} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _is_settled(into: str, file: str) -> bool:
    return os.lstat(f"{into}/{file}").st_ctime_ns < time.time_ns() - SETTLED_NS


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _bytes(into: str, file: str) -> bytes:
    with open(os.open(f"{into}/{file}", os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        return opened.read()
