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
    """A pod refers to a key that the ConfigMap or Secret does not have.

    The container does not start: CreateContainerConfigError, or the volume cannot be mounted.
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
"""Fields of pods: path of the reference, its key with the name of the object, path of the keys, kind of the object."""


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields references to keys that do not exist. Objects without any key are skipped: a program fills them."""
    objects: dict[tuple[str, str], list[Manifest]] = {}
    for kind in ("ConfigMap", "Secret"):
        for manifest in index.tree.of("", kind):
            objects.setdefault((kind, manifest.name), []).append(manifest)
    for pods in index.pods:
        for where, name, keys, kind in READS:
            for path, reference in places(pods.template, pattern(where)):
                candidates = objects.get((kind, str(dig(reference, name))), [])
                known = _known_keys(candidates, pods.manifest.namespace)
                if known and dig(reference, "optional") is not True:
                    for inner, key in places(reference, pattern(keys)):
                        target = f"{kind} {dig(reference, name)}"
                        yield from _key_finding(pods.manifest, (*pods.path, *path, *inner), key, known, target)


def _known_keys(candidates: list[Manifest], namespace: str) -> set[str]:
    """Returns the keys of the object that a pod of a namespace refers to; empty if no candidate or several match."""
    matching = [
        manifest
        for manifest in candidates
        if not namespace or not manifest.namespace or manifest.namespace == namespace
    ]
    return _keys(matching[0]) if len(matching) == 1 else set()


def _keys(manifest: Manifest) -> set[str]:
    return {key for field in ("data", "binaryData", "stringData") for key, _ in pairs(dig(manifest.body, field))}


def _key_finding(manifest: Manifest, path: Path, key: Any, known: set[str], target: str) -> Iterator[ObjectFinding]:
    if isinstance(key, str) and key not in known:
        suggestion = misspelt(key, known)
        message = f"in {target}: {missing('the key', key, known, suggestion)}"
        yield ObjectFinding(missing_key.rule, manifest, path, message, write(suggestion))
