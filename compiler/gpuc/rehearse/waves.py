"""The order in which Argo CD applies a cluster's tree, read from the emitted Applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Object

APPLICATIONS = "/apps/"
_EARLY_KINDS = ("Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "ConfigMap")
"""Of one wave these come first, in Argo CD's own order of kinds."""


@dataclass(frozen=True)
class Step:
    """Objects that are applied together; Argo CD goes on when all of them are healthy."""

    application: str
    wave: int
    manifests: tuple[Manifest, ...]


def steps(synced: Iterable[Manifest]) -> list[Step]:
    """Every object once: Applications by their wave, each followed by what it syncs by the waves inside.

    Raises:
        ValueError: when an object lies in a folder that no Application syncs, or two do.
    """
    objects = tuple(synced)
    entries = [each for each in objects if APPLICATIONS in each.file]
    found: list[Step] = []
    for entry in sorted(entries, key=_wave):
        found.append(Step(entry.name, _wave(entry), (entry,)))
        content = sorted((each for each in objects if _syncs(entry, each)), key=_rank)
        found += [Step(entry.name, wave, tuple(group)) for wave, group in groupby(content, _wave)]
    _require_each_once(objects, found)
    return found


def namespaces(synced: Iterable[Manifest]) -> Iterator[Object]:
    """Namespaces of Applications: those that Argo CD makes with their labels, and those that others must have made."""
    labels: dict[str, dict[str, str]] = {}
    for entry in synced:
        if entry.kind == "Application":
            given = entry.body["spec"]["syncPolicy"].get("managedNamespaceMetadata", {}).get("labels", {})
            labels.setdefault(entry.body["spec"]["destination"]["namespace"], {}).update(given)
            labels.setdefault(entry.namespace, {})
    for name, given in sorted(labels.items()):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": given}}


def _require_each_once(objects: tuple[Manifest, ...], found: list[Step]) -> None:
    applied = [id(each) for step in found for each in step.manifests]
    lost = sorted({each.file for each in objects if id(each) not in applied})
    if lost:
        raise ValueError(f"no Application syncs {', '.join(lost)}")
    if len(applied) != len(set(applied)):
        raise ValueError("two Applications sync the same object")


def _syncs(entry: Manifest, each: Manifest) -> bool:
    """Whether an Application syncs the folder that an object lies in."""
    spec = entry.body.get("spec", {})
    sources = [spec["source"]] if "source" in spec else spec.get("sources", [])
    for source in sources if entry.kind == "Application" else ():
        folder, path = each.file.rpartition("/")[0], source.get("path", "")
        deep = source.get("directory", {}).get("recurse", False)
        if path and (folder == path or (deep and folder.startswith(f"{path}/"))):
            return True
    return False


def _wave(manifest: Manifest) -> int:
    return int(manifest.annotations.get(WAVE, "0"))


def _rank(manifest: Manifest) -> tuple[int, int]:
    kind = _EARLY_KINDS.index(manifest.kind) if manifest.kind in _EARLY_KINDS else len(_EARLY_KINDS)
    return _wave(manifest), kind
