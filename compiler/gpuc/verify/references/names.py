"""Checks that objects exist which other objects refer to by name."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.contract import modules
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.objects.paths import pattern, places
from gpuc.objects.pods import Pods
from gpuc.verify.references.reference import ANY, POD, ObjectReference, Reference, check_reference, object_reference

REFERENCES: tuple[Reference, ...] = tuple(row for module in modules(__package__) for row in getattr(module, "ROWS", ()))
"""Every field in which objects refer to others: the ROWS of all modules in this folder."""

_BY_SOURCE: dict[str, list[tuple[Reference, tuple[str, ...]]]] = {}
for _row in REFERENCES:
    _BY_SOURCE.setdefault(_row.source, []).append((_row, pattern(_row.path)))


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields every reference to an object that does not exist, in the order of the objects."""
    for found in object_references(index):
        yield from check_reference(found, index)


def object_references(index: Index) -> Iterator[ObjectReference]:
    """Yields every reference from an object to another object."""
    for manifest in index.tree.manifests:
        api_group = group(manifest)
        rows = _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])
        wide = _BY_SOURCE.get(f"{api_group}/*", [])
        if not (rows or wide or manifest.labels):
            continue
        document = manifest.document()
        for reference, steps in (*rows, *wide, *(_BY_SOURCE[ANY] if manifest.labels else ())):
            for path, value in places(document, steps):
                if found := object_reference(reference, manifest, path, value, document):
                    yield found
    for pods in index.pods:
        yield from _pod_references(pods)


def _pod_references(pods: Pods) -> Iterator[ObjectReference]:
    for reference, steps in _BY_SOURCE[POD]:
        if not pods.path and steps[0] == "metadata":
            continue  # the rows for ANY cover the labels of a bare pod
        for path, value in places(pods.template, steps):
            if found := object_reference(reference, pods.manifest, path, value, pods.template, under=pods.path):
                yield found
