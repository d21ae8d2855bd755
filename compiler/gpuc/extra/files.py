"""Finds and reads the files in specs/<cluster>/manifests/. A link that leads out of the folder is refused."""

import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct, field

from gpuc.diagnostics.finding import Finding, Mark, Path, Rule, StageError, rule_table
from gpuc.documents.fleet_files import MANIFESTS, manifest_folder
from gpuc.source.encoding import text_of

FILES_MAX = 500

rule_of = rule_table(__file__)
BAD_FILE = rule_of("MAN001")
NOT_READ = rule_of("MAN002")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml")
_TOOLS = ("kustomization", "chart")
"""The names, without suffix, of the files from which Argo CD detects Kustomize and Helm."""


class ManifestFile(Struct, frozen=True):
    """A file in specs/<cluster>/manifests/, with the tenant to which its objects belong."""

    file: str
    """Relative to the root, with forward slashes."""
    tenant: str
    """The name of the subfolder; empty for objects of the platform."""
    text: str


class ManifestFiles(Struct):
    """The files in specs/<cluster>/manifests/ of one cluster, and the findings about them."""

    files: list[ManifestFile] = field(default_factory=list)
    folders: dict[str, str] = field(default_factory=dict)
    """The subfolders that contain files: the path relative to the root, by name."""
    findings: list[Finding] = field(default_factory=list)


def read_files(root: pathlib.Path, spec: str) -> ManifestFiles:
    """Reads all files in specs/<cluster>/manifests/ of a cluster.

    Args:
        root: the folder that contains specs/.
        spec: the spec file of the cluster, relative to the root.
    """
    found = ManifestFiles()
    folder = manifest_folder(spec)
    if not os.path.lexists(root / folder):
        return found
    for path in (str(pathlib.PurePosixPath(folder).parent), folder):
        if (root / path).is_symlink():
            _refuse(found, path, "is a symbolic link; expected a folder")
            return found
    if not (root / folder).is_dir():
        _refuse(found, folder, "is not a folder")
        return found
    _read_folder(root, folder, "", found)
    return found


def folders_without_cluster(root: pathlib.Path, specs: Iterable[str]) -> Iterator[Finding]:
    """Yields a finding for each folder manifests/ that belongs to no spec file.

    Args:
        specs: the spec files of all clusters, relative to the root.
    """
    known = {manifest_folder(spec) for spec in specs}
    for path in sorted((root / "specs").glob(f"**/{MANIFESTS}")):
        folder = path.relative_to(root).as_posix()
        is_hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        is_nested = MANIFESTS in folder.split("/")[2:-1]
        if folder.count("/") < 2 or folder in known or is_hidden or is_nested or not path.is_dir():
            continue
        if any(_NAME.fullmatch(name) for name in os.listdir(path)):
            spec = f"{folder.removesuffix(f'/{MANIFESTS}')}.yaml"
            message = f"{folder} belongs to no cluster: {spec} is not the spec of a cluster"
            yield NOT_READ.at((), message, mark=Mark(folder, 1, 1))


def _read_folder(root: pathlib.Path, folder: str, tenant: str, found: ManifestFiles) -> None:
    """Reads the files of a folder. The folder of the platform, which has no tenant, contains the folders of tenants."""
    for entry in visible_entries(root / folder, partial(_refuse, found, folder)):
        path = f"{folder}/{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            found.folders |= {tenant: folder} if tenant else {}
            _read_file(root, path, tenant, found)
        elif tenant:
            _refuse(found, path, "is a folder in the folder of a tenant; expected only files")
        else:
            _read_folder(root, path, entry.name, found)


def visible_entries(folder: pathlib.Path, refuse: Callable[[str], None]) -> list[os.DirEntry[str]]:
    """Returns the files and folders in a folder that are not hidden, sorted by name.

    Args:
        refuse: receives the problem if the folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        refuse(f"cannot be read: {(error.strerror or str(error)).lower()}")
        return []


def _read_file(root: pathlib.Path, file: str, tenant: str, found: ManifestFiles) -> None:
    name = file.rpartition("/")[2]
    if (root / file).is_symlink():
        _refuse(found, file, "is a symbolic link; expected a file")
    elif not name.lower().endswith((".yaml", ".yml")):
        if not name.lower().endswith(".md"):
            found.findings.append(
                at_path(NOT_READ, ("spec",), file, "is not read; expected a file with the suffix .yaml")
            )
    elif not _NAME.fullmatch(name):
        _refuse(found, file, "has a name with other characters than letters, digits, dots, hyphens and underscores")
    elif name.lower().rpartition(".")[0] in _TOOLS:
        _refuse(found, file, "has the name of a file of Kustomize or Helm; expected plain objects")
    elif len(found.files) >= FILES_MAX:
        if len(found.files) == FILES_MAX:
            _refuse(found, file, f"is one file too many; at most {FILES_MAX} files are allowed")
    else:
        try:
            text, remarks = text_of(root / file, file)
        except StageError as stop:
            found.findings += stop.findings
            return
        found.findings += remarks
        found.files.append(ManifestFile(file, tenant, text))


def _refuse(found: ManifestFiles, path: str, problem: str) -> None:
    found.findings.append(at_path(BAD_FILE, ("spec",), path, problem))


def at_path(rule: Rule, spec_path: Path, path: str, problem: str) -> Finding:
    """Returns a finding about a file or folder, at line 1."""
    shown = path if path.isprintable() else ascii(path)
    return rule.at(spec_path, f"{shown} {problem}", mark=Mark(shown, 1, 1))
