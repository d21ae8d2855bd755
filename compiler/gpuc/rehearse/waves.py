"""The order in which Argo CD applies a cluster's objects, from the sync waves of the emitted Applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Object

APPLICATIONS = "/apps/"
_EARLY_KINDS = ("Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "ConfigMap")
"""Kinds that come first in a wave, in Argo CD's order."""


@dataclass(frozen=True)
class Step:
    """Objects of one wave. Argo CD starts the next wave when all of them are healthy."""

    application: str
    wave: int
    manifests: tuple[Manifest, ...]


def steps(synced: Iterable[Manifest]) -> list[Step]:
    """Applications in the order of their waves, with the objects that they sync in the order of the inner waves.

    Raises:
        ValueError: if no Application or more than one Application syncs an object.
    """
    objects = tuple(synced)
    applications = [manifest for manifest in objects if APPLICATIONS in manifest.file]
    found: list[Step] = []
    for application in sorted(applications, key=_wave):
        found.append(Step(application.name, _wave(application), (application,)))
        content = sorted((manifest for manifest in objects if _syncs(application, manifest)), key=_rank)
        found += [Step(application.name, wave, tuple(group)) for wave, group in groupby(content, _wave)]
    _require_exactly_once(objects, found)
    return found


def namespaces(synced: Iterable[Manifest]) -> Iterator[Object]:
    """Namespaces of Applications and their destinations, with the labels that Argo CD sets."""
    labels: dict[str, dict[str, str]] = {}
    for manifest in synced:
        if manifest.kind == "Application":
            spec = manifest.body["spec"]
            managed = spec["syncPolicy"].get("managedNamespaceMetadata", {}).get("labels", {})
            labels.setdefault(spec["destination"]["namespace"], {}).update(managed)
            labels.setdefault(manifest.namespace, {})
    for name, managed in sorted(labels.items()):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": managed}}


def _require_exactly_once(objects: tuple[Manifest, ...], found: list[Step]) -> None:
    applied = [id(manifest) for step in found for manifest in step.manifests]
    missing = sorted({manifest.file for manifest in objects if id(manifest) not in applied})
    if missing:
        raise ValueError(f"no Application syncs {', '.join(missing)}")
    if len(applied) != len(set(applied)):
        raise ValueError("two Applications sync the same object")


def _syncs(application: Manifest, manifest: Manifest) -> bool:
    """Whether an Application syncs the folder of an object."""
    spec = application.body.get("spec", {})
    sources = [spec["source"]] if "source" in spec else spec.get("sources", [])
    for source in sources if application.kind == "Application" else ():
        folder, path = manifest.file.rpartition("/")[0], source.get("path", "")
        deep = source.get("directory", {}).get("recurse", False)
        if path and (folder == path or (deep and folder.startswith(f"{path}/"))):
            return True
    return False


def _wave(manifest: Manifest) -> int:
    return int(manifest.annotations.get(WAVE, "0"))


def _rank(manifest: Manifest) -> tuple[int, int]:
    kind = _EARLY_KINDS.index(manifest.kind) if manifest.kind in _EARLY_KINDS else len(_EARLY_KINDS)
    return _wave(manifest), kind
