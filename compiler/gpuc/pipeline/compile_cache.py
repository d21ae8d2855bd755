"""Remembers, in the user's cache, which specs compiled cleanly to which output: the same again needs no compile.

Only a compile that writes asks: what stands in out/ is hashed, and what was remembered has to be about the same bytes
of every spec, layer and policy and about the same gpuc. `gpuc check`, with and without --fresh, never asks.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys

from gpuc.manifest.cache_folder import cache_folder
from gpuc.synth.cdk8s import cdk8s_version
from gpuc.write.lockfile import NAME, lock_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FOLDER = "clean"
INPUTS = ("specs", "policies")


class Memo:
    """What is remembered of one selection of clusters, compiled from one root into one folder."""

    def __init__(self, root: Path, files: Sequence[str] | None, into: Path) -> None:
        self._into = os.path.abspath(into)
        selection = json.dumps([os.path.abspath(root), self._into, files])
        self._place = os.path.join(cache_folder(FOLDER), hashlib.sha256(selection.encode()).hexdigest()[:24])
        self._inputs = _digest_of_inputs(root)
        self._all = files is None

    def unchanged(self) -> dict[str, int] | None:
        """Number of files by cluster where a compile would write nothing and say nothing; else None."""
        try:
            with open(self._place, "rb") as file:
                said = json.load(file)
            if said["inputs"] != self._inputs or os.path.lexists(os.path.join(self._into, "out/.gpuc")):
                return None
            if self._all and _clusters(self._into) != set(said["indexes"]):
                return None
            return {name: _stands(self._into, name, digest) for name, digest in said["indexes"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def remember(self, indexes: dict[str, str]) -> None:
        """Notes that the inputs compiled without a finding to clusters with these indexes, text by name."""
        said = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in indexes.items()}
        aside = f"{self._place}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._place), exist_ok=True)
            with open(aside, "w", encoding="utf-8") as file:
                json.dump({"inputs": self._inputs, "indexes": said}, file)
            os.replace(aside, self._place)
        except OSError:
            return  # without a cache the next compile is a whole one


def _stands(into: str, cluster: str, digest: str) -> int:
    """The number of files of a cluster, its index among them, each as the index says.

    Raises:
        ValueError: when a file, or the index itself, is another.
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
    """Of every byte that a compile depends on: specs, layers, policies; of gpuc's own files, age and size."""
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
