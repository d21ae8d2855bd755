"""Reads and writes out/<cluster>/gpuc.lock: the output files of a cluster, their digests, and where objects come from.

Users review gpuc.lock in diffs, so each object is on a separate line. gpuc.lock contains no line numbers and no times,
so that specs with the same meaning produce the same gpuc.lock.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.manifest.output_file import OutputFile
from gpuc.write.filesystem import RefusedError, SafeDir

LOCKFILE = "gpuc.lock"
TOPS = ("out", "clusters")
CONFLICT = "has an unresolved Git conflict: keep either side, and run `gpuc compile`, which writes the file again"

Element = tuple[str, str]
"""A pool, tenant, namespace or queue: the section of the spec ("pools", "tenants", ...) and the name of the element."""


class Versions(Struct, frozen=True):
    """The versions of gpuc and cdk8s. The text of a rendered file can change with them."""

    gpuc: str
    cdk8s: str


class Removals(Struct, frozen=True):
    """The elements with `leaving: true` in a spec, and the elements whose removal the spec accepts in `removed`."""

    leaving: frozenset[Element] = frozenset()
    """Elements that get no new nodes or workloads: elements with `leaving: true`, and namespaces of such tenants."""
    removed: frozenset[Element] = frozenset()
    """Elements that the spec names in `removed`, because they were removed without `leaving: true`."""


class Lock(Struct, frozen=True):
    """The content of a gpuc.lock: versions, and the digests and origins of the output files of a cluster."""

    versions: Versions
    sha256: dict[str, str]
    """The sha256 of the bytes of each file, by path."""
    data: dict[str, str]
    """The sha256 of the data from which each file was rendered, by path."""
    elements: dict[Element, str]
    """All elements in the output. The value of a namespace is its tenant; all other values are empty."""
    removals: Removals


def lock_file(cluster: str) -> str:
    """Returns the path of the gpuc.lock of a cluster, relative to the folder that contains out/."""
    return f"out/{cluster}/{LOCKFILE}"


def is_output(path: object, cluster: str = "") -> bool:
    """Returns whether a path can be an output file: a file in a folder of out/ or clusters/.

    Args:
        cluster: the cluster to which the file must belong; empty for any cluster.
    """
    if not isinstance(path, str):
        return False
    top, *rest = path.split("/")
    if top not in TOPS or len(rest) < 2 or (cluster and rest[0] != cluster):
        return False
    if rest[0].startswith(".") or not path.isprintable() or "\\" in path:
        return False
    return all(step not in ("", ".", "..") for step in rest)


def render(
    output_files: Mapping[str, OutputFile],
    texts: Mapping[str, str],
    versions: Versions,
    spec_of: Callable[[Path], str],
    removals: Removals = Removals(),  # noqa: B008
) -> str:
    """Returns the text of the gpuc.lock of a cluster.

    Args:
        texts: the rendered text of each output file, by path.
        spec_of: returns the spec or layer file that contains the value at a path of the merged spec.
    """
    blocks = []
    for file in sorted(output_files):
        head = {"data": output_files[file].digest(), "sha256": hashlib.sha256(texts[file].encode()).hexdigest()}
        rows = ",\n".join(f"   {_json(_row(artifact, spec_of))}" for artifact in output_files[file].artifacts)
        blocks.append(f'  {_json(file)}: {{\n   {_json(head)[1:-1]}, "from": [\n{rows}]}}')
    top = {"cdk8s": versions.cdk8s, "gpuc": versions.gpuc}
    files = ",\n".join(blocks)
    lists = _element_list("leaving", removals.leaving) + _element_list("removed", removals.removed)
    return f'{{\n {_json(top)[1:-1]},\n{lists} "files": {{\n{files}\n }}\n}}\n'


def _element_list(key: str, elements: frozenset[Element]) -> str:
    """Returns a JSON list with a line for each element; the empty string if there are no elements."""
    rows = ",\n".join(f"  {_json('/'.join(element))}" for element in sorted(elements))
    return f" {_json(key)}: [\n{rows}\n ],\n" if rows else ""


def _row(artifact: Artifact, spec_of: Callable[[Path], str]) -> dict[str, object]:
    row: dict[str, object] = {"path": list(artifact.origin), "spec": spec_of(artifact.origin)}
    if isinstance(artifact, Manifest):
        if artifact.written:
            row["spec"] = artifact.written.file
        row |= {"api": artifact.api, "kind": artifact.kind, "name": artifact.name}
        if artifact.namespace:
            row["namespace"] = artifact.namespace
    return row


_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def parse(text: bytes | str, cluster: str) -> Lock:
    """Parses the gpuc.lock of a cluster.

    Raises:
        ValueError: when the text is not a gpuc.lock, or lists a file that does not belong to the cluster.
    """
    try:
        document = json.loads(text)
        versions = Versions(gpuc=document["gpuc"], cdk8s=document["cdk8s"])
        sha256 = {file: entry["sha256"] for file, entry in document["files"].items()}
        data = {file: entry["data"] for file, entry in document["files"].items()}
        elements = _elements(row["path"] for entry in document["files"].values() for row in entry.get("from", ()))
        removals = Removals(_parse_elements(document.get("leaving", ())), _parse_elements(document.get("removed", ())))
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ValueError(CONFLICT if conflict_line(text) else "was not written by gpuc") from error
    for file in sha256:
        if not is_output(file, cluster) or file == lock_file(cluster):
            raise ValueError(f"lists {file!r}, which is not a file of the cluster")
    return Lock(versions, sha256, data, elements, removals)


def conflict_line(text: bytes | str) -> int:
    """Returns the line of the first conflict marker of Git in a text; 0 without a marker."""
    lines = (text.encode() if isinstance(text, str) else text).split(b"\n")
    return next((number for number, line in enumerate(lines, 1) if line.startswith(b"<<<<<<< ")), 0)


def _elements(paths: Iterable[list[str | int]]) -> dict[Element, str]:
    """Returns the elements in the spec paths of all objects. Each element has at least one object."""
    elements: dict[Element, str] = {}
    for path in paths:
        match path:
            case ["spec", "tenants", str(tenant), "namespaces", str(name), *_]:
                elements["namespaces", name] = tenant
            case ["spec", ("pools" | "tenants" | "queues") as section, str(name), *_]:
                elements[str(section), name] = ""
    return elements


def _parse_elements(rows: Iterable[str]) -> frozenset[Element]:
    split = [row.split("/") for row in rows]
    return frozenset((section, name) for section, name in split)


def read_lock(root: str | os.PathLike[str], cluster: str) -> Lock | None:
    """Returns the gpuc.lock of a cluster; None if the file is missing or damaged. `write` reports a damaged file."""
    with contextlib.suppress(OSError, RefusedError, ValueError), SafeDir(root) as folder:
        text = folder.read(lock_file(cluster))
        return parse(text, cluster) if text else None
    return None


def unchanged_texts(
    output_files: Iterable[OutputFile], lock: Lock, versions: Versions, read: Callable[[str], bytes | None]
) -> dict[str, str]:
    """Returns the texts of the files that need no rendering, because the digests of their data are still the same.

    After an edit of one pool, gpuc renders only the file of the pool, because digests are faster to compare than files
    to render. The result is empty if a version has changed. The function trusts gpuc.lock, so `gpuc check --fresh` must
    not use the function.

    Args:
        read: returns the bytes of a file; None if the file does not exist.
    """
    if lock.versions != versions:
        return {}
    texts = {}
    for output_file in output_files:
        if lock.data.get(output_file.file) != output_file.digest():
            continue
        present = read(output_file.file)
        if present is not None and hashlib.sha256(present).hexdigest() == lock.sha256[output_file.file]:
            with contextlib.suppress(UnicodeDecodeError):
                texts[output_file.file] = present.decode()
    return texts
