"""Reads the states of a cluster: the committed output and spec before the change, and what the spec compiles to now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gpuc.diagnostics.finding import Mark, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.manifest.manifest import Artifact, Manifest, Text, Values, Written
from gpuc.manifest.output_file import OutputFile, output_files
from gpuc.plan.state import State, no_state, resolved_spec, state_of
from gpuc.write.filesystem import RefusedError, SafeDir
from gpuc.write.lockfile import is_output, lock_file

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.pipeline.fleet_policies import FleetPolicies
    from gpuc.pipeline.stages import CompiledSpec

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_METADATA = {"name", "namespace", "labels", "annotations"}


def state_after(compiled: CompiledSpec) -> State:
    """Returns the state that a compiled spec describes."""
    return state_of(compiled.cluster.name, compiled.artifacts, compiled.cluster, compiled.source)


def state_before(root: Path, name: str, file: str, after: CompiledSpec | None) -> State:
    """Returns the committed state of a cluster. A cluster without a gpuc.lock does not exist.

    Args:
        root: the folder with the files of the state before.
        file: the spec file of the cluster.
        after: the compiled spec of the state after, whose objects are used for the files that have not changed.
    """
    known: dict[str, OutputFile] = {}
    if after is not None:
        known = output_files(after.artifacts, after.cluster.file)
    try:
        with SafeDir(root) as folder:
            artifacts = list(_artifacts(folder, name, known))
    except (OSError, RefusedError):
        artifacts = []
    if not artifacts:
        return no_state(name)
    cluster, source = None, None
    if (root / file).is_file():
        cluster, source = resolved_spec(root, file, *_fleet(root))
    return state_of(name, artifacts, cluster, source)


def clusters_with_output(root: Path) -> list[str]:
    """Returns the names of the clusters that have a gpuc.lock below a folder, sorted."""
    try:
        with SafeDir(root) as folder:
            names = [name for name, is_folder in folder.entries("out") if is_folder]
            return sorted(name for name in names if is_output(lock_file(name)) and folder.read(lock_file(name)))
    except (OSError, RefusedError):
        return []


def _fleet(root: Path) -> tuple[FleetPolicies | None, Catalog | None]:
    """Returns the policies and the catalog of a committed fleet; None for those with errors."""
    from gpuc.pipeline.fleet_catalog import fleet_catalog
    from gpuc.pipeline.fleet_policies import fleet_policies

    policies, catalog = None, None
    with suppress(StageError):
        policies = fleet_policies(root)
    with suppress(StageError):
        catalog = fleet_catalog(root).catalog
    return policies, catalog


def _artifacts(folder: SafeDir, name: str, known: Mapping[str, OutputFile]) -> Iterator[Artifact]:
    """Yields the content of all files that the gpuc.lock of a cluster lists."""
    lock = folder.read(lock_file(name))
    if lock is None:
        return
    try:
        files = json.loads(lock)["files"]
    except (ValueError, KeyError, TypeError):
        return
    for file, entry in files.items():
        if not is_output(file, name):
            continue
        content = folder.read(file)
        if content is None:
            continue
        same = known.get(file)
        is_same = same is not None and same.digest() == entry.get("data")
        if same and is_same and hashlib.sha256(content).hexdigest() == entry.get("sha256"):
            yield from same.artifacts
        else:
            yield from _read(file, content.decode("utf-8", "replace"), entry.get("from", ()))


def _read(file: str, text: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Artifact]:
    """Yields the objects of a file, the values of a chart, or a text."""
    origins: list[SpecPath] = [tuple(row.get("path", ())) for row in rows]
    first = origins[0] if origins else ()
    if rows and all("kind" not in row for row in rows):
        values = _documents(text) if file.endswith(".yaml") else []
        if file.rsplit("/", 1)[-1] == "values.yaml" or "/values/" in file:
            yield Values(file, first, _component(file), values[0] if values else {})
        else:
            yield Text(file, first, text)
        return
    for index, document in enumerate(_documents(text)):
        origin = origins[index] if index < len(origins) else first
        if manifest := _manifest(file, origin, document):
            yield manifest


def _component(file: str) -> str:
    """Returns the component of a file of Helm values: out/C/COMPONENT/values.yaml, clusters/C/values/COMPONENT.yaml."""
    *_, folder, name = file.split("/")
    return folder if name == "values.yaml" else name.removesuffix(".yaml")


def _documents(text: str) -> list[dict[str, Any]]:
    try:
        return [document for document in yaml.load_all(text, _Loader) if isinstance(document, dict)]
    except yaml.YAMLError:
        return []


def _manifest(file: str, origin: SpecPath, document: dict[str, Any]) -> Manifest | None:
    """Returns the manifest of an object; None if the document is not an object."""
    metadata = document.get("metadata")
    api, kind = document.get("apiVersion"), document.get("kind")
    if not (isinstance(metadata, dict) and isinstance(api, str) and isinstance(kind, str)):
        return None
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
    start = Mark(file, 1, 1)
    written = None if metadata.keys() <= _METADATA else Written(file, document, partial(_start, start))
    return Manifest(
        file,
        origin,
        api,
        kind,
        str(metadata.get("name", "")),
        body,
        str(metadata.get("namespace", "")),
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        written,
    )


def _start(start: Mark, path: SpecPath, on_key: bool) -> Mark:
    return start
