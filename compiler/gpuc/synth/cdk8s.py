"""cdk8s' own JavaScript, which its Python package carries, as files that Node can load.

Unpacked once into the user's cache, under the versions of cdk8s and constructs. This runs before anything
heavy is imported, so it works with os.path and imports what it needs to unpack only then.
"""

from __future__ import annotations

import os
from importlib.machinery import PathFinder

from gpuc.manifest.cache_folder import cache_folder

PACKAGES = ("cdk8s", "constructs")
INDEX = "files.txt"
"""Lists what was unpacked, a size in bytes and a path to a line: a folder without it, or with files of other
sizes, was never finished or was damaged since."""


class PackageMissingError(Exception):
    """A Python package that carries a part of the printer is missing; the text names it."""


def package_folder(name: str) -> str:
    """The folder of an installed package, found without importing it.

    Raises:
        PackageMissingError: when there is none.
    """
    spec = PathFinder.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissingError(f"the Python package {name} is not installed")
    return next(iter(spec.submodule_search_locations))


def archives() -> dict[str, str]:
    """The archive of each package's JavaScript, by the package's name.

    Raises:
        PackageMissingError: when a package or its archive is missing.
    """
    found = {}
    for name in PACKAGES:
        folder = os.path.join(package_folder(name), "_jsii")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        tgz = [entry for entry in names if entry.startswith(f"{name}@") and entry.endswith(".jsii.tgz")]
        if len(tgz) != 1:
            raise PackageMissingError(f"the Python package {name} carries no JavaScript")
        found[name] = os.path.join(folder, tgz[0])
    return found


def version(archive: str) -> str:
    """The version in an archive's name: "2.70.115" of "cdk8s@2.70.115.jsii.tgz"."""
    return os.path.basename(archive).partition("@")[2].removesuffix(".jsii.tgz")


def cdk8s_version() -> str:
    """The version of cdk8s that prints.

    Raises:
        PackageMissingError: when it is not installed.
    """
    return version(archives()["cdk8s"])


def modules() -> tuple[str, bool]:
    """The folder whose node_modules hold cdk8s, and whether it is temporary: then the caller removes it.

    Raises:
        PackageMissingError: when there is nothing to unpack.
        OSError: when neither the cache nor the temporary folder can be written.
    """
    found = archives()
    folder = cache_folder("-".join(version(found[name]) for name in PACKAGES))
    if is_complete(folder):
        return folder, False
    return _unpacked(found, folder)


def is_complete(folder: str) -> bool:
    """Whether every file that was unpacked into the folder still has its size."""
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8") as index:
            lines = index.read().splitlines()
        sizes = {path: int(size) for size, _, path in (line.partition(" ") for line in lines)}
        present = {path: os.stat(f"{folder}/{path}").st_size for path in sizes}
        return bool(sizes) and present == sizes
    except (OSError, ValueError):
        return False


def _unpacked(found: dict[str, str], folder: str) -> tuple[str, bool]:
    import shutil
    import tempfile

    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        staging = tempfile.mkdtemp(prefix=".unpacking-", dir=os.path.dirname(folder))
    except OSError:
        staging = tempfile.mkdtemp(prefix="gpuc-")
        _unpack(found, staging)
        return staging, True
    try:
        made = os.path.join(staging, "made")
        _unpack(found, made)
        _install(made, folder, os.path.join(staging, "damaged"))
    except OSError:
        shutil.rmtree(staging, ignore_errors=True)
        staging = tempfile.mkdtemp(prefix="gpuc-")
        _unpack(found, staging)
        return staging, True
    shutil.rmtree(staging, ignore_errors=True)
    return folder, False


def _install(made: str, folder: str, aside: str) -> None:
    """Puts an unpacked folder in its place by one rename; a complete one there stays, a damaged one goes."""
    try:
        os.rename(made, folder)
    except OSError:
        if is_complete(folder):
            return
        os.rename(folder, aside)
        os.rename(made, folder)


def _unpack(found: dict[str, str], folder: str) -> None:
    import tarfile

    index = []
    for name, archive in found.items():
        with tarfile.open(archive) as tar:
            for member in tar:
                inside = member.name.removeprefix("package/")
                if not member.isfile() or not inside.endswith((".js", ".mjs", ".json")) or ".." in inside:
                    continue
                path = f"node_modules/{name}/{inside}"
                content = tar.extractfile(member)
                assert content is not None
                data = content.read()
                os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
                with open(f"{folder}/{path}", "wb") as file:
                    file.write(data)
                index.append(f"{len(data)} {path}\n")
    with open(f"{folder}/{INDEX}", "w", encoding="utf-8") as listing:
        listing.writelines(index)
