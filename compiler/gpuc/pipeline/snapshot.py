"""Computes the digests of all files that a compile reads before the compile reads them.

So gpuc detects files that change during the compile.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from gpuc.documents.fleet_files import CATALOG, KIND_LINE, MANIFESTS, is_spec, manifest_folder

POLICIES = "policies"
SPECS = "specs"


class Snapshot:
    """The digests of the files below specs/ and policies/.

    Args:
        root: the folder that contains specs/.

    Raises:
        OSError: when a file or folder cannot be read. The compile reports it.
    """

    def __init__(self, root: Path) -> None:
        self.digests: dict[str, str] = {}
        """The sha256 of each file, by path relative to the root. The target of a link to a folder is not read."""
        self._kinds: dict[str, str] = {}
        """Cluster, Layer or an empty string for each file that may be a spec, sorted by path."""
        self._manifests: dict[str, list[str]] = {}
        """By folder of manifests, a line for each file and folder below it."""
        self._names: list[str] = []
        """The paths of all files, and the paths and types of all other entries."""
        shared = []
        for path, sha256, data in sorted(_entries(str(root), (POLICIES, SPECS))):
            self.digests[path] = sha256
            self._names.append(path if data is not None else f"{path} {sha256}")
            folder, is_below, _ = path.partition(f"/{MANIFESTS}/")
            if is_below:
                self._manifests.setdefault(f"{folder}/{MANIFESTS}", []).append(f"{path} {sha256}")
            elif f"{path}/".startswith((f"{POLICIES}/", f"{SPECS}/{CATALOG}/")):
                shared.append(f"{path} {sha256}")
            elif path.endswith((".yaml", ".yml")) and data is not None and is_spec(PurePosixPath(path)):
                kinds = KIND_LINE.findall(data)
                self._kinds[path] = kinds[0].decode() if kinds else ""
        self._shared = shared

    def of_fleet(self) -> str:
        """Returns the digest of everything that all clusters share, and of the file names in specs/."""
        unknown = (f"{file} {self.digests[file]}" for file, kind in self._kinds.items() if not kind)
        kinds = (f"{file} {kind}" for file, kind in self._kinds.items())
        return digest([*self._shared, *kinds, *unknown, *self._names])

    def of_cluster(self, file: str) -> str:
        """Returns the digest of a spec file, the manifests of its cluster, and everything that all clusters share."""
        folder = manifest_folder(file)
        # A link in place of a folder is an error, and a link to a folder has no files in the snapshot.
        own = (f"{path} {self.digests.get(path)}" for path in (file, folder, os.path.dirname(folder)))
        return digest([*self._shared, *own, *self._manifests.get(folder, ())])

    def has(self, files: Mapping[str, str]) -> bool:
        """Returns whether all files still have these digests. `files` maps the path of a file to a digest."""
        return all(self.digests.get(file) == sha256 for file, sha256 in files.items())


def digest(lines: Iterable[str]) -> str:
    """Returns the sha256 of several texts together."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _entries(root: str, folders: Iterable[str]) -> Iterator[tuple[str, str, bytes | None]]:
    """Yields path, sha256 and bytes of each file below some folders; for other entries, their type and no bytes."""
    waiting = [folder for folder in folders if os.path.isdir(os.path.join(root, folder))]
    while waiting:
        folder = waiting.pop()
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if entry.is_symlink() and not entry.is_file():
                    yield path, f"link to {os.readlink(entry.path)}", None
                elif entry.is_dir():
                    waiting.append(path)
                    yield path, "folder", None
                elif entry.is_file():
                    with open(entry.path, "rb") as opened:
                        data = opened.read()
                    # A link to a file is refused in some folders.
                    yield path, f"{'link ' if entry.is_symlink() else ''}{hashlib.sha256(data).hexdigest()}", data
                else:
                    yield path, "no file", None
