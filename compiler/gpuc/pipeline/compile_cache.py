"""Remembers in the user's cache which specs compiled to which output, so that the same again needs no compile.

Only `gpuc compile` reads the cache. A hit needs the same bytes of every spec, layer and policy, the same gpuc, and an
out/ whose files still have the digests of their index. `gpuc check`, with and without --fresh, never reads the cache.
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
class Known:
    """The result of an earlier compile that a new one would repeat."""

    files: dict[str, int]
    """Number of files by cluster."""
    findings: tuple[Finding, ...]
    """Warnings and information; a compile with errors is not remembered."""


class CompileCache:
    """The entry of one selection of clusters, compiled from one root into one folder."""

    def __init__(self, root: Path, files: Sequence[str] | None, into: Path) -> None:
        self._root = root
        self._into = os.path.abspath(into)
        self._is_complete = files is None
        selection = json.dumps([os.path.abspath(root), self._into, files])
        self._file = os.path.join(cache_folder(FOLDER), hashlib.sha256(selection.encode()).hexdigest()[:24])

    def lookup(self) -> Known | None:
        """The result that a compile would repeat without writing a file; None where one is needed."""
        try:
            with open(self._file, "rb") as file:
                entry = json.load(file)
            if entry["inputs"] != self.inputs or os.path.lexists(f"{self._into}/out/.gpuc"):
                return None
            if self._is_complete and _clusters(self._into) != set(entry["indexes"]):
                return None
            files = {name: _count_files(self._into, name, digest) for name, digest in entry["indexes"].items()}
            return Known(files, tuple(_finding(finding) for finding in entry["findings"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @cached_property
    def inputs(self) -> str:
        """The digest of every byte that a compile depends on; read it before the compile reads the files.

        Of gpuc's own files, age and size. Empty where a file cannot be read, which is a finding of the compile.
        """
        try:
            return _digest_of_inputs(self._root)
        except (OSError, PackageMissingError):
            return ""

    def store(self, inputs: str, indexes: dict[str, str], findings: Sequence[Finding]) -> None:
        """Notes that the inputs compiled to clusters with these indexes, text by name, and to these findings."""
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
            return  # without a cache the next compile runs every stage


def _finding(entry: dict[str, Any]) -> Finding:
    mark = Mark(**entry["mark"]) if entry["mark"] else None
    return Finding(**{**entry, "severity": Severity(entry["severity"]), "path": tuple(entry["path"]), "mark": mark})


def _count_files(into: str, cluster: str, digest: str) -> int:
    """The number of files of a cluster whose index has the digest, the index among them.

    Raises:
        ValueError: when the index or one of its files has changed.
        OSError: when one is missing.
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
    """The clusters that have an index."""
    return {entry.name for entry in os.scandir(f"{into}/out") if os.path.exists(f"{entry.path}/{NAME}")}


def _digest_of_inputs(root: Path) -> str:
    digest = hashlib.sha256(f"{sys.version}\0{cdk8s_version()}".encode())
    package = os.path.dirname(os.path.dirname(__file__))
    for file in _files(package):
        if "__pycache__" not in file:
            found = os.stat(file)
            digest.update(f"{file}\0{found.st_mtime_ns}\0{found.st_size}\0".encode())
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
