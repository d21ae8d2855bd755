"""The state of a cluster before or after a change: its objects, Helm values and spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cluster.application import ARGO, Application, applications
from gpuc.diagnostics.finding import Mark, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.manifest.manifest import Artifact, Manifest, Text, Values
from gpuc.objects.object_set import ObjectSet

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.model import Cluster
    from gpuc.pipeline.fleet_policies import FleetPolicies
    from gpuc.source import Source

HELM_VALUES = "Helm values"
"""The kind of a manifest with the values of a chart. Its name is the component."""
Locate = Callable[[Manifest, SpecPath], Mark | None]


@dataclass(frozen=True, eq=False)
class State:
    """What Git describes of a cluster at one time."""

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
    cluster: Cluster | None = None
    """The resolved spec; None without a spec, and if this gpuc cannot compile the spec."""
    source: Source | None = None
    """The files of the spec; None without a spec."""
    locate: Locate = lambda manifest, path: None
    """Returns the position of a path of an object, for objects that people wrote."""

    @property
    def exists(self) -> bool:
        """Whether Git has the cluster at this time."""
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
        found = [
            (len(source.folder or ""), application)
            for application in self.applications
            for source in application.sources
            if source.syncs(manifest.file)
        ]
        return max(found, key=lambda row: row[0], default=(0, None))[1]


def no_state(name: str) -> State:
    """Returns the state of a cluster that does not exist."""
    return State(name, ObjectSet((), is_complete=True))


def state_of(name: str, artifacts: Iterable[Artifact], cluster: Cluster | None, source: Source | None) -> State:
    """Returns the state of a cluster with these artifacts."""
    synced: list[Manifest] = []
    templates: list[Manifest] = []
    first_sync: list[Manifest] = []
    values: list[Manifest] = []
    texts: dict[str, str] = {}
    for artifact in artifacts:
        if isinstance(artifact, Values):
            values.append(values_manifest(artifact))
        elif isinstance(artifact, Text):
            texts[artifact.file] = artifact.text
        elif artifact.file.startswith(f"out/{name}/workloads/"):
            templates.append(artifact)
        else:
            (synced if artifact.file.startswith("out/") else first_sync).append(artifact)
    catalog = cluster.catalog if cluster else None
    charts = {manifest.name: manifest.body for manifest in values}
    objects = ObjectSet(synced, is_complete=True, values=charts, catalog=catalog)
    return State(
        name,
        objects,
        tuple(templates),
        tuple(first_sync),
        tuple(values),
        texts,
        cluster,
        source,
        lambda manifest, path: manifest.written.locate(path, False) if manifest.written else None,
    )


def values_manifest(values: Values) -> Manifest:
    """Returns the Helm values of a component as a manifest."""
    return Manifest(
        values.file, values.origin, "", HELM_VALUES, values.component, values.body, overrides=values.overrides
    )


def resolved_spec(
    root: Path, file: str, fleet: FleetPolicies | None, catalog: Catalog | None
) -> tuple[Cluster | None, Source | None]:
    """Returns the model and the files of a committed spec; None for what this gpuc cannot read.

    The spec may be written for another version of gpuc, or may have errors.
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
