"""out/<cluster>/gpuc.lock: the files that gpuc wrote for a cluster, their digests, and the origin of each object.

People review it in diffs, so each object has its own line. It contains no line numbers and no times, so that specs
with the same meaning give the same gpuc.lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.manifest.output_file import OutputFile
from gpuc.write.filesystem import RefusedError, SafeDir

NAME = "gpuc.lock"
TOPS = ("out", "clusters")

Element = tuple[str, str]
"""A pool, tenant, namespace or queue: its section of the spec ("pools", "tenants", ...) and its name."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions on which the rendered text depends, besides the data."""

    gpuc: str
    cdk8s: str


@dataclass(frozen=True, slots=True)
class Removals:
    """The elements that a spec is about to remove, and those whose removal it accepts."""

    leaving: frozenset[Element] = frozenset()
    """Elements with `leaving: true`, which take no new work, including the namespaces of a leaving tenant."""
    removed: frozenset[Element] = frozenset()
    """Elements that `removed` names with a reason, because they were removed without `leaving`."""


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a gpuc.lock."""

    versions: Versions
    sha256: dict[str, str]
    """The sha256 of the bytes of each file, by path."""
    data: dict[str, str]
    """The sha256 of the data from which each file was rendered, by path."""
    elements: dict[Element, str]
    """All elements in the output. The value is the tenant of a namespace, and "" for the other elements."""
    removals: Removals


def lock_file(cluster: str) -> str:
    """Returns the path of a cluster's gpuc.lock, relative to the root."""
    return f"out/{cluster}/{NAME}"


def is_output(path: object, cluster: str = "") -> bool:
    """Whether the path is a file in out/ or clusters/ that belongs to the cluster, or to any cluster by default."""
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
    removals: Removals = Removals(),
) -> str:
    """Renders the gpuc.lock of a cluster.

    Args:
        spec_of: returns the spec file, relative to the root, that contains the value at a path of the merged spec.
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
    """A JSON list with a line for each element; empty without elements."""
    rows = ",\n".join(f"  {_json('/'.join(element))}" for element in sorted(elements))
    return f" {_json(key)}: [\n{rows}\n ],\n" if rows else ""


def _row(artifact: Artifact, spec_of: Callable[[Path], str]) -> dict[str, object]:
    row: dict[str, object] = {"path": list(artifact.origin), "spec": spec_of(artifact.origin)}
    if isinstance(artifact, Manifest):
        row |= {"api": artifact.api, "kind": artifact.kind, "name": artifact.name}
        if artifact.namespace:
            row["namespace"] = artifact.namespace
    return row


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def parse(text: bytes | str, cluster: str) -> Lock:
    """Parses the gpuc.lock of a cluster.

    Raises:
        ValueError: when the text is not a gpuc.lock, or lists a file of another cluster.
    """
    try:
        read = json.loads(text)
        versions = Versions(gpuc=read["gpuc"], cdk8s=read["cdk8s"])
        sha256 = {file: entry["sha256"] for file, entry in read["files"].items()}
        data = {file: entry["data"] for file, entry in read["files"].items()}
        elements = _elements(row["path"] for entry in read["files"].values() for row in entry.get("from", ()))
        removals = Removals(_parse_elements(read.get("leaving", ())), _parse_elements(read.get("removed", ())))
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ValueError("was not written by gpuc") from error
    for file in sha256:
        if not is_output(file, cluster) or file == lock_file(cluster):
            raise ValueError(f"lists {file!r}, which is not a file of the cluster")
    return Lock(versions, sha256, data, elements, removals)


def _elements(paths: Iterable[list[str | int]]) -> dict[Element, str]:
    """The elements in the spec paths of all objects; every element has an object."""
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


def stored(root: str | os.PathLike[str], cluster: str) -> Lock | None:
    """Returns the gpuc.lock of a cluster; None if it is missing or damaged (the writer reports damage)."""
    with contextlib.suppress(OSError, RefusedError, ValueError), SafeDir(root) as tree:
        text = tree.read(lock_file(cluster))
        return parse(text, cluster) if text else None
    return None


def unchanged(
    output_files: Iterable[OutputFile], lock: Lock, versions: Versions, read: Callable[[str], bytes | None]
) -> dict[str, str]:
    """Returns the texts of the files whose data, versions and bytes are the same as in gpuc.lock, by file.

    The function trusts gpuc.lock, so only `gpuc compile` may use it, not `gpuc check --fresh`.
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
