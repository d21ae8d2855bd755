"""Unpacks the JavaScript of cdk8s from its Python package, so that Node.js can load it.

The files are unpacked once, into a folder in the user's cache whose name contains the versions of cdk8s and constructs.
This module runs at the start of each compile. To start fast, the module uses os.path, and imports tarfile, shutil and
tempfile only if it has to unpack the files.
"""

import os
from importlib.machinery import PathFinder

from gpuc.manifest.cache_folder import cache_folder

PACKAGES = ("cdk8s", "constructs")
INDEX = "files.txt"
"""The file that lists the unpacked files. Each line contains a size in bytes and a path. If the file is missing, or an
unpacked file has another size, the folder is incomplete or damaged."""


class PackageMissingError(Exception):
    """A Python package that gpuc needs to render YAML is missing. The message names the package."""


def package_folder(name: str) -> str:
    """Returns the folder of an installed package, without importing the package.

    Raises:
        PackageMissingError: when the package is not installed.
    """
    spec = PathFinder.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PackageMissingError(f"the Python package {name} is not installed")
    return next(iter(spec.submodule_search_locations))


def archives() -> dict[str, str]:
    """Returns the paths of the archives with the JavaScript of cdk8s and constructs, by the name of the package.

    Raises:
        PackageMissingError: when a package or its archive is missing.
    """
    files = {}
    for name in PACKAGES:
        folder = os.path.join(package_folder(name), "_jsii")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        matches = [file for file in names if file.startswith(f"{name}@") and file.endswith(".jsii.tgz")]
        if len(matches) != 1:
            raise PackageMissingError(f"the Python package {name} does not contain its JavaScript")
        files[name] = os.path.join(folder, matches[0])
    return files


def version(archive: str) -> str:
    """Returns the version in the file name of an archive: "2.70.115" for "cdk8s@2.70.115.jsii.tgz"."""
    return os.path.basename(archive).partition("@")[2].removesuffix(".jsii.tgz")


def cdk8s_version() -> str:
    """Returns the version of the installed cdk8s.

    Raises:
        PackageMissingError: when cdk8s is not installed.
    """
    return version(archives()["cdk8s"])


def modules() -> tuple[str, bool]:
    """Returns the folder with the JavaScript of cdk8s, and whether the folder is temporary.

    The caller must remove a temporary folder.

    Raises:
        PackageMissingError: when a package or its archive is missing.
        OSError: when gpuc can write neither to the cache nor to a temporary folder.
    """
    packages = archives()
    folder = cache_folder("-".join(version(packages[name]) for name in PACKAGES))
    if is_complete(folder):
        return folder, False
    return _unpack_into_cache(packages, folder)


def is_complete(folder: str) -> bool:
    """Returns whether a folder was unpacked completely: all files in its list exist and have the listed sizes."""
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8") as index:
            lines = index.read().splitlines()
        sizes = {path: int(size) for size, _, path in (line.partition(" ") for line in lines)}
        present = {path: os.stat(f"{folder}/{path}").st_size for path in sizes}
        return bool(sizes) and present == sizes
    except (OSError, ValueError):
        return False


def _unpack_into_cache(packages: dict[str, str], folder: str) -> tuple[str, bool]:
    """Unpacks the archives into the folder, or into a temporary folder if the cache is not writable.

    Returns:
        The folder with the unpacked files, and whether the folder is temporary.
    """
    import shutil
    import tempfile

    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        staging = tempfile.mkdtemp(prefix=".unpacking-", dir=os.path.dirname(folder))
    except OSError:
        staging = tempfile.mkdtemp(prefix="gpuc-")
        _unpack(packages, staging)
        return staging, True
    try:
        unpacked = os.path.join(staging, "unpacked")
        _unpack(packages, unpacked)
        _install(unpacked, folder, os.path.join(staging, "damaged"))
    except OSError:
        shutil.rmtree(staging, ignore_errors=True)
        staging = tempfile.mkdtemp(prefix="gpuc-")
        _unpack(packages, staging)
        return staging, True
    shutil.rmtree(staging, ignore_errors=True)
    return folder, False


def _install(unpacked: str, folder: str, trash: str) -> None:
    """Renames the unpacked folder to its final path, unless the final path is a complete folder.

    Args:
        trash: the path to which a damaged folder is moved.
    """
    try:
        os.rename(unpacked, folder)
    except OSError:
        if is_complete(folder):
            return
        os.rename(folder, trash)
        os.rename(unpacked, folder)


def _unpack(packages: dict[str, str], folder: str) -> None:
    import tarfile

    index = []
    for name, archive in packages.items():
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
