"""The compile cache: `gpuc compile` with unchanged input and output repeats the stored result.

Only `gpuc compile` reads the cache. A hit requires the same bytes of every spec, layer and policy, the same gpuc, and
output files that still have the digests in gpuc.lock. `gpuc check` never reads the cache, with or without --fresh.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Severity
from gpuc.manifest.cache_folder import cache_folder
from gpuc.synth.cdk8s import PackageMissingError, cdk8s_version
from gpuc.write.lockfile import NAME, lock_file

FOLDER = "clean"
INPUTS = ("specs", "policies")


@dataclass(frozen=True)
class CachedResult:
    """The result of an earlier compile with the same input and output."""

    files: dict[str, int]
    """Number of files by cluster."""
    findings: tuple[Finding, ...]
    """Warnings and infos. The cache does not store a compile with errors."""


class CompileCache:
    """The cache entry of a selection of clusters, with the root of the specs and the folder of the output."""

    def __init__(self, root: Path, files: Sequence[str] | None, into: Path) -> None:
        self._root = root
        self._into = os.path.abspath(into)
        self._is_complete = files is None
        selection = json.dumps([os.path.abspath(root), self._into, files])
        self._file = os.path.join(cache_folder(FOLDER), hashlib.sha256(selection.encode()).hexdigest()[:24])

    def lookup(self) -> CachedResult | None:
        """Returns the stored result if input and output are unchanged, else None."""
        try:
            with open(self._file, "rb") as file:
                entry = json.load(file)
            if entry["inputs"] != self.inputs or os.path.lexists(f"{self._into}/out/.gpuc"):
                return None
            if self._is_complete and _clusters(self._into) != set(entry["indexes"]):
                return None
            files = {name: _count_files(self._into, name, digest) for name, digest in entry["indexes"].items()}
            return CachedResult(files, tuple(_finding(finding) for finding in entry["findings"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @cached_property
    def inputs(self) -> str:
        """The digest of all files that a compile depends on; take it before the compile reads the files.

        It contains the bytes of specs and policies, and time and size of gpuc's own files. It is empty if a file
        cannot be read, which the compile reports.
        """
        try:
            return _digest_of_inputs(self._root)
        except (OSError, PackageMissingError):
            return ""

    def store(self, inputs: str, indexes: dict[str, str], findings: Sequence[Finding]) -> None:
        """Stores the result of a compile.

        Args:
            inputs: the digest of the input, taken before the compile.
            indexes: the text of gpuc.lock by cluster.
            findings: the warnings and infos.
        """
        if not inputs:
            return
        temporary = f"{self._file}.{os.getpid()}"
        try:
            entry = {
                "inputs": inputs,
                "indexes": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in indexes.items()},
                "findings": [asdict(finding) | {"severity": finding.severity.value} for finding in findings],
            }
            os.makedirs(os.path.dirname(self._file), exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(temporary, self._file)
        except OSError:
            return  # without an entry the next compile runs every stage


def _finding(entry: dict[str, Any]) -> Finding:
    mark = Mark(**entry["mark"]) if entry["mark"] else None
    return Finding(**{**entry, "severity": Severity(entry["severity"]), "path": tuple(entry["path"]), "mark": mark})


def _count_files(into: str, cluster: str, digest: str) -> int:
    """Counts the files of a cluster, gpuc.lock included, and compares their digests.

    Raises:
        ValueError: when gpuc.lock or a file has changed.
        OSError: when gpuc.lock or a file is missing.
    """
    index = _bytes(into, lock_file(cluster))
    if hashlib.sha256(index).hexdigest() != digest:
        raise ValueError("the index has changed")
    files = json.loads(index)["files"]
    for file, entry in files.items():
        if hashlib.sha256(_bytes(into, file)).hexdigest() != entry["sha256"]:
            raise ValueError(f"{file} has changed")
    return len(files) + 1


def _bytes(into: str, file: str) -> bytes:
    with open(os.open(os.path.join(into, file), os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
        return opened.read()


def _clusters(into: str) -> set[str]:
    """The clusters with a gpuc.lock."""
    return {entry.name for entry in os.scandir(f"{into}/out") if os.path.exists(f"{entry.path}/{NAME}")}


def _digest_of_inputs(root: Path) -> str:
    digest = hashlib.sha256(f"{sys.version}\0{cdk8s_version()}".encode())
    package = os.path.dirname(os.path.dirname(__file__))
    for file in _files(package):
        if "__pycache__" not in file:
            status = os.stat(file)
            digest.update(f"{file}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    for folder in INPUTS:
        for file in _files(os.path.join(root, folder)):
            with open(file, "rb") as opened:
                data = opened.read()
            digest.update(f"{file}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _files(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders.sort()
        yield from (os.path.join(path, file) for file in sorted(files))
