"""The state of a cluster before or after a change: its objects, Helm values and spec.

gpuc reads a state from the output in Git, from a compiled spec, or from a folder of manifests.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.cluster.application import ARGO, Application, applications
from gpuc.diagnostics.finding import Mark, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import DUPLICATE_KEY, read
from gpuc.lint.load.load_objects import load_objects
from gpuc.manifest.manifest import Artifact, Locate, Manifest, Text, Values, Written, manifest_of
from gpuc.manifest.output_file import OutputFile, output_files
from gpuc.objects.object_set import ObjectSet, grouped
from gpuc.write.filesystem import RefusedError, SafeDir
from gpuc.write.lockfile import is_output, lock_file, parse

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.model import Cluster
    from gpuc.pipeline.fleet_policies import FleetPolicies
    from gpuc.pipeline.stages import CompiledSpec
    from gpuc.source import Source

HELM_VALUES = "Helm values"
"""The kind of a manifest with the values of a chart. Its name is the component."""


class State(Struct, frozen=True, eq=False, dict=True):
    """All objects, Helm values and files of a cluster, before or after a change."""

    name: str
    """The name of the cluster; empty for manifests without a spec."""
    objects: ObjectSet
    """The objects that Argo CD applies."""
    templates: tuple[Manifest, ...] = ()
    """The workload templates, which users copy."""
    first_sync: tuple[Manifest, ...] = ()
    """The objects in clusters/, which an administrator applies."""
    values: tuple[Manifest, ...] = ()
    """The Helm values of each chart, as manifests of the kind HELM_VALUES."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The other files: the text by path."""
    cluster: "Cluster | None" = None
    """The resolved spec; None without a spec, and if this gpuc cannot compile the spec."""
    source: "Source | None" = None
    """The files of the spec; None without a spec."""
    locate: Locate = lambda manifest, path: None
    """Returns the position of a path of an object, for objects that people wrote."""

    @property
    def exists(self) -> bool:
        """Whether the cluster exists in this state, that is, whether it has objects."""
        return bool(self.objects.manifests)

    @cached_property
    def applications(self) -> tuple[Application, ...]:
        """The Applications, in the order of their sync waves."""
        found = applications(self.objects.of(ARGO, "Application"))
        return tuple(sorted(found, key=lambda application: (application.wave, application.name)))

    def application(self, name: str) -> Application | None:
        """Returns the Application with a name; None if there is none."""
        return next((application for application in self.applications if application.name == name), None)

    def application_of(self, manifest: Manifest) -> Application | None:
        """Returns the Application that applies an object; None if no Application does."""
        if manifest.file not in self._appliers:
            found = [
                (len(source.folder or ""), application)
                for application in self.applications
                for source in application.sources
                if source.syncs(manifest.file)
            ]
            self._appliers[manifest.file] = max(found, key=lambda row: row[0], default=(0, None))[1]
        return self._appliers[manifest.file]

    @cached_property
    def _appliers(self) -> dict[str, Application | None]:
        """The results of `application_of` by file."""
        return {}


def no_state(name: str) -> State:
    """Returns the empty state of a cluster that does not exist before or after the change."""
    return State(name, ObjectSet((), is_complete=True))


def state_of(name: str, artifacts: Iterable[Artifact], cluster: "Cluster | None", source: "Source | None") -> State:
    """Returns the state of a cluster from the objects, Helm values and texts that gpuc emitted for it."""
    found = list(artifacts)
    values = tuple(
        Manifest(chart.file, chart.origin, "", HELM_VALUES, chart.component, chart.body, overrides=chart.overrides)
        for chart in found
        if isinstance(chart, Values)
    )
    folders = f"out/{name}/workloads/", "out/", ""
    manifests = (artifact for artifact in found if isinstance(artifact, Manifest))
    by_folder = grouped(manifests, lambda manifest: next(filter(manifest.file.startswith, folders)))
    templates, synced, first_sync = (tuple(by_folder.get(folder, ())) for folder in folders)
    charts, catalog = {manifest.name: manifest.body for manifest in values}, cluster.catalog if cluster else None
    return State(
        name,
        ObjectSet(synced, is_complete=True, values=charts, catalog=catalog),
        templates,
        first_sync,
        values,
        {artifact.file: artifact.text for artifact in found if isinstance(artifact, Text)},
        cluster,
        source,
        lambda manifest, path: manifest.written.locate(path, False) if manifest.written else None,
    )


def resolved_spec(
    root: Path, file: str, fleet: "FleetPolicies | None", catalog: "Catalog | None"
) -> "tuple[Cluster | None, Source | None]":
    """Returns the model and the source text of a spec in Git; None for each of the two that this gpuc cannot read.

    The reason can be an error in the spec, or a spec for another version of gpuc.
    """
    from gpuc.model import resolve
    from gpuc.source import read
    from gpuc.spec.parse import parse

    try:
        source = read(root, file)
    except (StageError, OSError):
        return None, None
    if fleet is None or catalog is None:
        return None, source
    try:
        return resolve(parse(source), source.file, catalog, fleet.policies), source
    except StageError:
        return None, source


_METADATA = {"name", "namespace", "labels", "annotations"}


def state_after(compiled: "CompiledSpec") -> State:
    """Returns the state that a compiled spec describes."""
    return state_of(compiled.cluster.name, compiled.artifacts, compiled.cluster, compiled.source)


def state_before(root: Path, name: str, file: str, after: "CompiledSpec | None") -> State:
    """Returns the state of a cluster that is in Git. Without the file gpuc.lock, the cluster does not exist.

    Args:
        root: the folder with the files of the state before.
        file: the spec file of the cluster.
        after: the compiled spec after the change. Its objects are used for files that have not changed.

    Raises:
        UsageError: when gpuc.lock or a file that it lists cannot be read. Without these objects, the cluster would seem
            to be new, so the plan would have no dangerous impacts, and --fail-on would pass.
    """
    known: dict[str, OutputFile] = {}
    if after is not None:
        known = output_files(after.artifacts, after.cluster.file)
    with _readable(root) as folder:
        lock = folder.read(lock_file(name))
        if lock is None:
            return no_state(name)
        artifacts = list(_artifacts(folder, name, lock, known))
    if not artifacts:
        raise _unreadable(lock_file(name), "lists no file that exists")
    cluster, source = None, None
    if (root / file).is_file():
        cluster, source = resolved_spec(root, file, *_fleet(root))
    return state_of(name, artifacts, cluster, source)


def clusters_with_output(root: Path) -> list[str]:
    """Returns the names of the clusters that have a gpuc.lock below a folder, sorted.

    Raises:
        UsageError: when out/ or a gpuc.lock cannot be read.
    """
    with _readable(root) as folder:
        names = [name for name, is_folder in folder.entries("out") if is_folder]
        return [name for name in names if is_output(lock_file(name)) and folder.read(lock_file(name)) is not None]


@contextmanager
def _readable(root: Path) -> Iterator[SafeDir]:
    """Yields the files of the state before. Raises a UsageError for a file that cannot be read."""
    try:
        with SafeDir(root) as folder:
            yield folder
    except (OSError, RefusedError) as error:
        raise UsageError(f"the state before cannot be read: {error}") from None


def _fleet(root: Path) -> "tuple[FleetPolicies | None, Catalog | None]":
    """Returns the policies and the catalog of a committed fleet; None instead of a part that has errors."""
    from gpuc.pipeline.fleet_catalog import fleet_catalog
    from gpuc.pipeline.fleet_policies import fleet_policies

    policies, catalog = None, None
    with suppress(StageError):
        policies = fleet_policies(root)
    with suppress(StageError):
        catalog = fleet_catalog(root).catalog
    return policies, catalog


def _artifacts(folder: SafeDir, name: str, lock: bytes, known: Mapping[str, OutputFile]) -> Iterator[Artifact]:
    """Yields the content of all files that the gpuc.lock of a cluster lists."""
    try:
        entries = _entries(lock, name)
    except ValueError as error:
        raise _unreadable(lock_file(name), str(error)) from None
    for file, entry in entries.items():
        content = folder.read(file)
        if content is None:
            continue
        same = known.get(file)
        is_same = same is not None and same.digest() == entry["data"]
        if same and is_same and hashlib.sha256(content).hexdigest() == entry["sha256"]:
            yield from same.artifacts
        else:
            yield from _read(file, content.decode("utf-8", "replace"), entry.get("from", ()))


def _entries(lock: bytes, name: str) -> dict[str, dict[str, Any]]:
    """Returns the entries of the files in a gpuc.lock, by path.

    Raises:
        ValueError: when the text is not a gpuc.lock of the cluster.
    """
    parse(lock, name)
    entries: dict[str, dict[str, Any]] = json.loads(lock)["files"]
    for entry in entries.values():
        for row in entry.get("from", ()):
            if not (isinstance(row["path"], list) and all(isinstance(step, str | int) for step in row["path"])):
                raise ValueError("was not written by gpuc")
    return entries


def _unreadable(file: str, reason: str) -> UsageError:
    return UsageError(f"the state before cannot be read: {file} {reason}")


def _read(file: str, text: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Artifact]:
    """Yields the objects of a file, the values of a chart, or a text."""
    origins: list[SpecPath] = [tuple(row["path"]) for row in rows]
    first = origins[0] if origins else ()
    if rows and all("kind" not in row for row in rows):
        if file.rsplit("/", 1)[-1] == "values.yaml" or "/values/" in file:
            yield Values(file, first, _component(file), next(_documents(file, text), {}))
        else:
            yield Text(file, first, text)
        return
    for index, document in enumerate(_documents(file, text)):
        yield _manifest(file, origins[index] if index < len(origins) else first, document)


def _component(file: str) -> str:
    """Returns the component of a file of Helm values: out/C/COMPONENT/values.yaml, clusters/C/values/COMPONENT.yaml."""
    *_, folder, name = file.split("/")
    return folder if name == "values.yaml" else name.removesuffix(".yaml")


def _documents(file: str, text: str) -> Iterator[dict[str, Any]]:
    """Yields the maps in a file.

    Raises:
        UsageError: when the file is not YAML, or a document is not a map.
    """
    parsed = read(text, file)
    for finding in parsed.findings:
        if finding.id != DUPLICATE_KEY.id:  # the last value counts, as for the API server
            raise UsageError(f"the state before cannot be read: {finding.mark}: {finding.message}")
    for _, document in parsed.documents:
        if isinstance(document, dict):
            yield document
        elif document is not None:
            raise _unreadable(file, "has a document that is not a map")


def _manifest(file: str, origin: SpecPath, document: dict[str, Any]) -> Manifest:
    """Returns the manifest of an object.

    Raises:
        UsageError: when the document is not an object.
    """
    api, kind, metadata = document.get("apiVersion"), document.get("kind"), document.get("metadata")
    if not (isinstance(metadata, dict) and isinstance(api, str) and isinstance(kind, str)):
        raise _unreadable(file, "has a document that is not a Kubernetes object")
    written = None if metadata.keys() <= _METADATA else Written(file, document, lambda path, on_key: Mark(file, 1, 1))
    return replace(manifest_of(document, file, origin), written=written)


def manifest_state(path: str) -> tuple[State, list[str]]:
    """Returns the state that a file or folder of manifests describes, and sentences about files that could not be read.

    Raises:
        UsageError: when the path does not exist or has no objects, because the plan would report a removed cluster.
    """
    loaded = load_objects([path])
    unread = [*loaded.unread_summary]
    if not loaded.manifests:
        raise UsageError("; ".join([f"{path} has no Kubernetes objects", *unread]))
    known = {id(manifest) for manifest in loaded.manifests}

    def locate(manifest: Manifest, field: SpecPath) -> Mark | None:
        return loaded.locate(manifest, field) if id(manifest) in known else None

    state = State("", ObjectSet(loaded.manifests, is_complete=False), locate=locate)
    return state, unread
