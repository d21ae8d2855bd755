"""Stores results, so that `gpuc compile` and `gpuc check` can repeat the result of a cluster with unchanged input.

An entry belongs to one cluster. The name of its file is a digest of gpuc's own files, of the spec, of the manifests of
the cluster and of what all clusters share; the entry names the layers with their digests. Nothing in an entry depends
on a folder, a time or a machine, so the folder of entries can be used in other checkouts and in CI. A compile also
requires that all output files have the digests in gpuc.lock. Results with errors are not stored.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TypeVar

import msgspec
from msgspec import Struct

from gpuc import __version__
from gpuc.diagnostics.finding import Finding
from gpuc.diagnostics.today import dates, today
from gpuc.manifest.cache_folder import cache_folder
from gpuc.pipeline.other_clusters import Claim, Conflict
from gpuc.pipeline.snapshot import Snapshot, digest
from gpuc.synth.cdk8s import PackageMissingError, cdk8s_version

FOLDER = "results"
ENTRIES_MAX = 10_000
"""With more entries, the oldest half is removed."""


class Result(Struct, frozen=True):
    """The stored result of a cluster without errors."""

    conflicts: tuple[Conflict, ...]
    """The claims of this cluster that an earlier cluster also has."""
    locks: tuple[str, ...]
    """The sha256 of each gpuc.lock with which the result is the same; an empty string if there is no output yet."""
    day: str
    """The only day on which the result is current, if a check read the date; else an empty string."""
    findings: tuple[Finding, ...]
    output: str = ""
    """The sha256 of the gpuc.lock of the output; empty if only `gpuc check` has run."""


class Entry(Struct, frozen=True):
    """What gpuc stores about a cluster: digests of its input, and its result."""

    key: str
    layers: Mapping[str, str]
    """The sha256 of each layer, by path."""
    claims: tuple[Claim, ...]
    """The claims of the cluster: what belongs to it, so that no other spec may name it."""
    result: Result | None = None


class FleetEntry(Struct, frozen=True):
    """The stored findings about what all clusters of a fleet share: policies and the catalog."""

    key: str
    findings: tuple[Finding, ...]
    """Findings about policies and about the catalog."""
    of_folders: tuple[Finding, ...]
    """Findings about files in specs/ that belong to no cluster."""
    clusters: tuple[str, ...]


T = TypeVar("T", Entry, FleetEntry)


class ResultCache:
    """The stored results of one fleet.

    Args:
        snapshot: the files of the fleet; None if a file cannot be read. Then no stored result is used.
        is_read: whether stored results are used. Results are stored in any case.
    """

    def __init__(self, snapshot: Snapshot | None, *, is_read: bool) -> None:
        self._snapshot = snapshot
        self._is_read = is_read
        self.notes: list[str] = []
        """Sentences about entries that could not be used."""
        self._entries: dict[str, Entry] = {}

    def fleet(self) -> FleetEntry | None:
        """Returns the stored findings about policies and the catalog; None if they are not stored."""
        if self._snapshot is None or not self._is_read:
            return None
        return self._load(self._name("fleet", self._snapshot.of_fleet()), FleetEntry)

    def store_fleet(self, findings: Iterable[Finding], of_folders: Iterable[Finding], clusters: Iterable[str]) -> None:
        """Stores the findings about policies and the catalog. The findings must not contain errors."""
        if self._snapshot:
            name = self._name("fleet", self._snapshot.of_fleet())
            _write(name, FleetEntry(name, tuple(findings), tuple(of_folders), tuple(clusters)))

    def entry(self, file: str) -> Entry | None:
        """Returns what is stored about the cluster of a spec file; None if nothing is stored or a layer has changed."""
        return self._entry(file) if self._is_read else None

    def _entry(self, file: str) -> Entry | None:
        if self._snapshot is None:
            return None
        found = self._entries.get(file) or self._load(self._name(file, self._snapshot.of_cluster(file)), Entry)
        return found if found and self._snapshot.has(found.layers) else None

    def store(self, file: str, files: Sequence[str], claims: Iterable[Claim], result: Result | None) -> None:
        """Stores the result for a spec file. Values that an earlier entry has for the same input are kept.

        Args:
            files: the spec file and its layers.
            result: the result; None if the spec was only compared with others.
        """
        if self._snapshot is None or any(path not in self._snapshot.digests for path in files):
            return  # a layer behind a link to a folder
        before = self._entry(file)
        earlier = before.result if before else None
        if result and earlier and not result.output and result.locks[0] in earlier.locks:
            result = msgspec.structs.replace(result, output=earlier.output, locks=earlier.locks)
        layers = {path: self._snapshot.digests[path] for path in files if path != file}
        name = self._name(file, self._snapshot.of_cluster(file))
        self._entries[file] = Entry(name, layers, tuple(claims), result or earlier)
        _write(name, self._entries[file])

    def complete(self, file: str, lock: str, is_same: bool) -> None:
        """Stores that the output of a cluster was written.

        Args:
            lock: the text of gpuc.lock.
            is_same: whether the result is also correct with this gpuc.lock.
        """
        entry = self._entries.get(file)
        if entry and entry.result:
            sha256 = hashlib.sha256(lock.encode()).hexdigest()
            locks = {**dict.fromkeys(entry.result.locks), **({sha256: None} if is_same else {})}
            result = msgspec.structs.replace(entry.result, locks=tuple(locks), output=sha256)
            self._entries[file] = msgspec.structs.replace(entry, result=result)
            _write(entry.key, self._entries[file])

    def _name(self, file: str, input_digest: str) -> str:
        return digest([identity(), file, input_digest])

    def _load(self, name: str, of: type[T]) -> T | None:
        if not identity():
            return None
        try:
            with open(_path(name), "rb") as opened:
                found = msgspec.json.decode(opened.read(), type=of)
        except OSError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.notes.append(f"the cache entry {_path(name)} is damaged, so its result is computed again")
            return None
        if found.key != name:
            self.notes.append(f"the cache entry {_path(name)} belongs to other input; its result is computed again")
            return None
        return found


def is_current(result: Result, conflicts: Sequence[Conflict], lock: str) -> bool:
    """Returns whether a stored result is still correct.

    Args:
        conflicts: values of this cluster that only one cluster may have, but that an earlier cluster has too.
        lock: the sha256 of the present gpuc.lock; empty if there is none.
    """
    return result.conflicts == tuple(conflicts) and lock in result.locks and result.day in ("", f"{today()}")


def day_of_result() -> str:
    """Returns the only day on which a result is correct; empty if no check has read the date since the last reset."""
    return f"{max(dates)}" if dates else ""


@cache
def identity() -> str:
    """Returns a digest of gpuc and Python, on which results also depend; empty if the digest cannot be computed."""
    package = os.path.dirname(os.path.dirname(__file__))
    try:
        files = sorted(_files_below(package))
        stats = (os.stat(file) for file in files)
        rows = [f"{file} {stat.st_mtime_ns} {stat.st_size}" for file, stat in zip(files, stats, strict=True)]
        version = f"{__version__} {cdk8s_version()} {sys.version_info[:2]}"
        return digest([version, _content(digest(rows), package, files)])
    except (OSError, PackageMissingError):
        return ""


def _content(stamp: str, package: str, files: Sequence[str]) -> str:
    """Returns the digest of gpuc's own files. They are read again only if a size or a time has changed."""
    memory = os.path.join(cache_folder("package"), stamp[:32])
    with suppress(OSError, UnicodeDecodeError), open(memory, encoding="ascii") as opened:
        if len(known := opened.read()) == len(stamp):
            return known
    lines = []
    for file in files:
        with open(file, "rb") as opened:
            lines.append(f"{os.path.relpath(file, package)} {hashlib.sha256(opened.read()).hexdigest()}")
    content = digest(lines)
    replace_file(memory, content.encode())
    return content


def _files_below(folder: str) -> Iterable[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (os.path.join(path, file) for file in files)


def _path(name: str) -> str:
    return os.path.join(cache_folder(FOLDER), name[:40])


def _write(name: str, entry: Entry | FleetEntry) -> None:
    if not identity():
        return
    replace_file(_path(name), msgspec.json.encode(entry))
    folder = cache_folder(FOLDER)
    with suppress(OSError):
        names = os.listdir(folder)
        if len(names) > ENTRIES_MAX:
            paths = sorted((os.path.join(folder, other) for other in names), key=os.path.getmtime)
            for path in paths[: len(paths) // 2]:
                os.remove(path)


def replace_file(path: str, data: bytes) -> None:
    """Writes a complete file of the cache, or none if that fails. Then the next command computes the result again."""
    temporary = f"{path}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as opened:
            opened.write(data)
        os.replace(temporary, path)
