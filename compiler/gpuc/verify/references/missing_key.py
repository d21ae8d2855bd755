from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, pairs
from gpuc.objects.paths import pattern, places
from gpuc.verify import check

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check(
    "REF007",
    source="https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/",
)
def missing_key(subject: Subject) -> Iterator[ObjectFinding]:
    """A key is read that the ConfigMap or Secret does not have.

    The container does not start: CreateContainerConfigError, or a volume that is never mounted.
    """
    return findings(subject.index)


READS: tuple[tuple[str, str, str, str], ...] = (
    *(
        (f"spec.{containers}[].env[].valueFrom.{reference}", "name", "key", kind)
        for containers in ("containers", "initContainers")
        for reference, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))
    ),
    ("spec.volumes[].configMap", "name", "items[].key", "ConfigMap"),
    ("spec.volumes[].secret", "secretName", "items[].key", "Secret"),
    ("spec.volumes[].projected.sources[].configMap", "name", "items[].key", "ConfigMap"),
    ("spec.volumes[].projected.sources[].secret", "name", "items[].key", "Secret"),
)
"""In pods: where a map stands, its key with the object's name, where in it the read keys stand, the object's kind."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Every key that is read and not there; objects without any key are filled in by others."""
    objects: dict[tuple[str, str], list[Manifest]] = {}
    for kind in ("ConfigMap", "Secret"):
        for manifest in index.tree.of("", kind):
            objects.setdefault((kind, manifest.name), []).append(manifest)
    for each in index.pods:
        for where, name, keys, kind in READS:
            for path, reference in places(each.template, pattern(where)):
                named = objects.get((kind, str(dig(reference, name))), [])
                known = _keys_here(named, each.manifest.namespace)
                if known and dig(reference, "optional") is not True:
                    for inner, key in places(reference, pattern(keys)):
                        found = f"{kind} {dig(reference, name)}"
                        yield from _flaw(each.manifest, (*each.path, *path, *inner), key, known, found)


def _keys_here(named: list[Manifest], namespace: str) -> set[str]:
    """The keys of the one object that is meant; nothing where it is not in the tree, or which one is not sure."""
    meant = [each for each in named if not namespace or not each.namespace or each.namespace == namespace]
    return _keys(meant[0]) if len(meant) == 1 else set()


def _keys(manifest: Manifest) -> set[str]:
    return {key for part in ("data", "binaryData", "stringData") for key, _ in pairs(dig(manifest.body, part))}


def _flaw(manifest: Manifest, path: Path, key: Any, known: set[str], what: str) -> Iterator[ObjectFinding]:
    if isinstance(key, str) and key not in known:
        near = misspelt(key, known)
        yield ObjectFinding(
            missing_key.rule, manifest, path, f"in {what}: {missing('the key', key, known, near)}", write(near)
        )
