"""The order in which Argo CD applies the objects of a cluster: sync waves of Applications and of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from gpuc.cluster.application import application_in, applications, is_application, wave_of
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Object

OUTPUT = "out/"
APPLICATIONS = "/apps/"
"""Folder of the output that contains the Applications."""
_EARLY_KINDS = ("Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "ConfigMap")
"""Kinds that Argo CD applies first in a wave, in this order."""


@dataclass(frozen=True)
class Step:
    """Objects of one sync wave of an Application. Argo CD starts the next wave when all objects are healthy."""

    application: str
    wave: int
    manifests: tuple[Manifest, ...]


def steps(synced: Iterable[Manifest]) -> list[Step]:
    """Returns the steps in Argo CD's order: each Application, then the objects that it syncs, wave by wave.

    Raises:
        ValueError: if no Application or more than one Application syncs an object.
    """
    objects = tuple(synced)
    applications = [manifest for manifest in objects if APPLICATIONS in manifest.file]
    ordered: list[Step] = []
    for application in sorted(applications, key=wave_of):
        ordered.append(Step(application.name, wave_of(application), (application,)))
        synced_objects = sorted((manifest for manifest in objects if _syncs(application, manifest)), key=_rank)
        ordered += [Step(application.name, wave, tuple(group)) for wave, group in groupby(synced_objects, wave_of)]
    _require_exactly_once(objects, ordered)
    return ordered


def namespaces(synced: Iterable[Manifest]) -> Iterator[Object]:
    """Yields the namespaces of Applications and of their destinations, with the labels that Argo CD sets."""
    labels: dict[str, dict[str, str]] = {}
    for application in applications(synced):
        labels.setdefault(application.destination.namespace, {}).update(application.namespace_labels)
        labels.setdefault(application.manifest.namespace, {})
    for name, namespace_labels in sorted(labels.items()):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": namespace_labels}}


def _require_exactly_once(objects: tuple[Manifest, ...], ordered: list[Step]) -> None:
    applied = [id(manifest) for step in ordered for manifest in step.manifests]
    not_applied = sorted({manifest.file for manifest in objects if id(manifest) not in applied})
    if not_applied:
        raise ValueError(f"no Application syncs {', '.join(not_applied)}")
    if len(applied) != len(set(applied)):
        raise ValueError("two Applications sync the same object")


def _syncs(application: Manifest, manifest: Manifest) -> bool:
    sources = application_in(application).sources if is_application(application) else ()
    return any(source.syncs(manifest.file) for source in sources)


def _rank(manifest: Manifest) -> tuple[int, int]:
    kind = _EARLY_KINDS.index(manifest.kind) if manifest.kind in _EARLY_KINDS else len(_EARLY_KINDS)
    return wave_of(manifest), kind
