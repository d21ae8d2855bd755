"""Checks that every object exists to which another object refers by name."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.diagnostics.contract import modules
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.pods import Pods
from gpuc.verify.references.reference import ANY, POD, ObjectReference, Reference, check_reference, object_reference

REFERENCES: tuple[Reference, ...] = tuple(row for module in modules(__package__) for row in getattr(module, "ROWS", ()))
"""All fields in which objects refer to other objects: the ROWS of all modules in this folder."""

_BY_SOURCE: dict[str, list[tuple[Reference, tuple[str, ...]]]] = {}
for _row in REFERENCES:
    _BY_SOURCE.setdefault(_row.source, []).append((_row, pattern(_row.path)))


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields a finding for every reference to an object that does not exist, in the order of the objects."""
    for reference in object_references(index):
        yield from check_reference(reference, index)


def object_references(index: Index) -> Iterator[ObjectReference]:
    """Yields every reference from an object to another object."""
    for manifest in index.tree.manifests:
        api_group = group(manifest)
        rows = _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])
        group_rows = _BY_SOURCE.get(f"{api_group}/*", [])
        if not (rows or group_rows or manifest.labels):
            continue
        document = manifest.document()
        for reference, steps in (*rows, *group_rows, *(_BY_SOURCE[ANY] if manifest.labels else ())):
            for path, value in matching_values(document, steps):
                if resolved := object_reference(reference, manifest, path, value, document):
                    yield resolved
    for pods in index.pods:
        yield from _pod_references(pods)


def _pod_references(pods: Pods) -> Iterator[ObjectReference]:
    for reference, steps in _BY_SOURCE[POD]:
        if not pods.path and steps[0] == "metadata":
            continue  # The rows for ANY include the labels of a Pod object.
        for path, value in matching_values(pods.template, steps):
            if resolved := object_reference(reference, pods.manifest, path, value, pods.template, under=pods.path):
                yield resolved
