"""The compile cache: if input and output are unchanged, `gpuc compile` repeats the result of the last compile.

The result is repeated only if the bytes of all specs, layers and policies are unchanged, gpuc itself is unchanged, all
output files have the digests in gpuc.lock, and the day is the same, because a finding can depend on the date. `gpuc
check` never reads the cache.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from gpuc.diagnostics.finding import Finding, Mark, Related, Severity
from gpuc.diagnostics.today import today
from gpuc.manifest.cache_folder import cache_folder
from gpuc.synth.cdk8s import PackageMissingError, cdk8s_version
from gpuc.write.lockfile import LOCKFILE, lock_file

FOLDER = "clean"
INPUTS = ("specs", "policies")


class CachedResult(Struct, frozen=True):
    """The result of an earlier compile with the same input and output."""

    files: dict[str, int]
    """Number of files by cluster."""
    findings: tuple[Finding, ...]
    """Warnings and infos. The result of a compile with errors is not stored."""


class CompileCache:
    """The stored result for a selection of clusters.

    Args:
        root: the folder that contains specs/.
        files: the selected spec files, relative to the root; None for all clusters.
        into: the folder that contains out/ and clusters/.
    """

    def __init__(self, root: Path, files: Sequence[str] | None, into: Path) -> None:
        self._root = root
        self._into = os.path.abspath(into)
        self._has_all_clusters = files is None
        selection = json.dumps([os.path.abspath(root), self._into, files])
        self._file = os.path.join(cache_folder(FOLDER), hashlib.sha256(selection.encode()).hexdigest()[:24])

    def lookup(self) -> CachedResult | None:
        """Returns the stored result; None if there is none, or if input or output has changed."""
        try:
            with open(self._file, "rb") as file:
                entry = json.load(file)
            if entry["inputs"] != self.inputs or os.path.lexists(f"{self._into}/out/.gpuc"):
                return None
            if self._has_all_clusters and _clusters(self._into) != set(entry["indexes"]):
                return None
            files = {name: _count_files(self._into, name, digest) for name, digest in entry["indexes"].items()}
            return CachedResult(files, tuple(_finding(finding) for finding in entry["findings"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @cached_property
    def inputs(self) -> str:
        """The digest of all files that a compile reads. It must be computed before the compile reads the files.

        The digest depends on the bytes of specs and policies, on the modification time and size of gpuc's own files,
        and on the date. It is the empty string if a file cannot be read; the compile reports such a file.
        """
        try:
            return _digest_of_inputs(self._root)
        except (OSError, PackageMissingError):
            return ""

    def store(self, inputs: str, locks: dict[str, str], findings: Sequence[Finding]) -> None:
        """Stores the result of a compile.

        Args:
            inputs: the attribute `inputs`, computed before the compile.
            locks: the text of gpuc.lock by cluster.
            findings: the warnings and infos.
        """
        if not inputs:
            return
        temporary = f"{self._file}.{os.getpid()}"
        try:
            entry = {
                "inputs": inputs,
                "indexes": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in locks.items()},
                "findings": [to_builtins(finding) for finding in findings],
            }
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(temporary, self._file)
        except OSError:
            return  # without a stored result, the next compile runs all stages


def _finding(entry: dict[str, Any]) -> Finding:
    related = tuple(Related(**{**other, **_position(other)}) for other in entry["related"])
    return Finding(**{**entry, **_position(entry), "severity": Severity(entry["severity"]), "related": related})


def _position(entry: dict[str, Any]) -> dict[str, Any]:
    mark = Mark(**entry["mark"]) if entry["mark"] else None
    return {"path": tuple(entry["path"]), "mark": mark}


def _count_files(into: str, cluster: str, digest: str) -> int:
    """Returns the number of files of a cluster, with gpuc.lock, after a comparison of their digests.

    Args:
        digest: the expected digest of gpuc.lock, which contains the digests of the other files.

    Raises:
        ValueError: when gpuc.lock or a file has changed.
        OSError: when gpuc.lock or a file is missing.
    """
    lock = _bytes(into, lock_file(cluster))
    if hashlib.sha256(lock).hexdigest() != digest:
        raise ValueError("gpuc.lock has changed")
    files = json.loads(lock)["files"]
    for file, entry in files.items():
        if hashlib.sha256(_bytes(into, file)).hexdigest() != entry["sha256"]:
            raise ValueError(f"{file} has changed")
    return len(files) + 1


def _bytes(into: str, file: str) -> bytes:
    with open(os.open(os.path.join(into, file), os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        return opened.read()


def _clusters(into: str) -> set[str]:
    """Returns the names of the clusters that have a gpuc.lock."""
    return {entry.name for entry in os.scandir(f"{into}/out") if os.path.exists(f"{entry.path}/{LOCKFILE}")}


def _digest_of_inputs(root: Path) -> str:
    digest = hashlib.sha256(f"{sys.version}\0{cdk8s_version()}\0{today()}".encode())
    package = os.path.dirname(os.path.dirname(__file__))
    for file in _files_below(package):
        if "__pycache__" not in file:
            status = os.stat(file)
            digest.update(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    for folder in INPUTS:
        for file in _files_below(os.path.join(root, folder)):
            with open(file, "rb") as opened:
                data = opened.read()
            digest.update(f"{file}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _files_below(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders.sort()
        yield from (os.path.join(path, file) for file in sorted(files))
