"""The index of a cluster's output, out/<cluster>/gpuc.lock: what gpuc wrote, and what each object came from.

People read it in diffs, so an object stands on a line of its own and an edit of one thing changes few lines. It
names no line of a spec and no time, so that the same meaning always gives the same index.
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
"""A part of a cluster that work depends on: its section (pools, tenants, namespaces or queues) and its name."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What the printed text depends on beside the emitted data; every fact of the catalog is part of the data."""

    gpuc: str
    cdk8s: str


@dataclass(frozen=True, slots=True)
class Departures:
    """The elements that a spec marks as leaving, and those that it gives a reason for."""

    leaving: frozenset[Element] = frozenset()
    """Those that take no new work and are still in the spec; the namespaces of a leaving tenant among them."""
    removed: frozenset[Element] = frozenset()
    """Those that the spec gives a reason for, because they left without that."""


@dataclass(frozen=True, slots=True)
class Lock:
    """An index as it was read."""

    versions: Versions
    sha256: dict[str, str]
    """Of each file's bytes, by path."""
    data: dict[str, str]
    """Of what each file was printed from, by path."""
    elements: dict[Element, str]
    """The tenant of each namespace, and "" of each other element: all that the files were made of."""
    departures: Departures


def lock_file(cluster: str) -> str:
    """Where a cluster's index stands, relative to the root."""
    return f"out/{cluster}/{NAME}"


def is_output(path: object, cluster: str = "") -> bool:
    """Whether gpuc may write the path: a file of the cluster, or of any, below out/ or clusters/."""
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
    departures: Departures = Departures(),
) -> str:
    """The text of the index of one cluster's files.

    spec_of names the spec file, relative to the root, that wrote the value at a path of the merged spec.
    """
    blocks = []
    for file in sorted(output_files):
        head = {"data": output_files[file].digest(), "sha256": hashlib.sha256(texts[file].encode()).hexdigest()}
        rows = ",\n".join(f"   {_json(_row(one, spec_of))}" for one in output_files[file].artifacts)
        blocks.append(f'  {_json(file)}: {{\n   {_json(head)[1:-1]}, "from": [\n{rows}]}}')
    top = {"cdk8s": versions.cdk8s, "gpuc": versions.gpuc}
    files = ",\n".join(blocks)
    going = _listed("leaving", departures.leaving) + _listed("removed", departures.removed)
    return f'{{\n {_json(top)[1:-1]},\n{going} "files": {{\n{files}\n }}\n}}\n'


def _listed(key: str, elements: frozenset[Element]) -> str:
    """A line for each element; nothing where there is none."""
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
    """The index of a cluster.

    Raises:
        ValueError: when it is none, or names a file that is not the cluster's.
    """
    try:
        read = json.loads(text)
        versions = Versions(gpuc=read["gpuc"], cdk8s=read["cdk8s"])
        sha256 = {file: entry["sha256"] for file, entry in read["files"].items()}
        data = {file: entry["data"] for file, entry in read["files"].items()}
        elements = _elements(row["path"] for entry in read["files"].values() for row in entry.get("from", ()))
        departures = Departures(_unlisted(read.get("leaving", ())), _unlisted(read.get("removed", ())))
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ValueError("is no index that gpuc wrote") from error
    for file in sha256:
        if not is_output(file, cluster) or file == lock_file(cluster):
            raise ValueError(f"names {file!r}, which is not a file of the cluster")
    return Lock(versions, sha256, data, elements, departures)


def _elements(paths: Iterable[list[str | int]]) -> dict[Element, str]:
    """The elements at the start of spec paths: the output has an object of each element."""
    found: dict[Element, str] = {}
    for path in paths:
        match path:
            case ["spec", "tenants", str(tenant), "namespaces", str(name), *_]:
                found["namespaces", name] = tenant
            case ["spec", ("pools" | "tenants" | "queues") as section, str(name), *_]:
                found[str(section), name] = ""
    return found


def _unlisted(rows: Iterable[str]) -> frozenset[Element]:
    split = [row.split("/") for row in rows]
    return frozenset((section, name) for section, name in split)


def stored(root: str | os.PathLike[str], cluster: str) -> Lock | None:
    """The index that lies in a tree; None where there is none that can be read, which the writer reports."""
    with contextlib.suppress(OSError, RefusedError, ValueError), SafeDir(root) as tree:
        text = tree.read(lock_file(cluster))
        return parse(text, cluster) if text else None
    return None


def unchanged(
    output_files: Iterable[OutputFile], lock: Lock, versions: Versions, read: Callable[[str], bytes | None]
) -> dict[str, str]:
    """The texts by file that need not be printed: data, versions and bytes are those of the last write.

    This trusts the index, so it is for a compile that writes, never for one that proves.
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
