"""Checks that every object exists to which another object refers by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.diagnostics.contract import modules
from gpuc.diagnostics.finding import Path, Rule
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.objects.paths import Pattern, matching_values, pattern
from gpuc.verify.references.reference import ANY, POD, ObjectReference, Reference, check_reference, object_reference

REFERENCES: dict[Reference, Rule] = {
    row: getattr(module, module.__name__.rpartition(".")[2]).rule
    for module in modules(__package__)
    for row in getattr(module, "ROWS", ())
}
"""All fields in which objects refer to other objects, with their rules: the ROWS of each module of this folder."""

_BY_SOURCE: dict[str, list[tuple[Reference, Pattern]]] = {}
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
        rows = [*rows, *_BY_SOURCE.get(f"{api_group}/*", []), *(_BY_SOURCE[ANY] if manifest.labels else ())]
        if rows:
            yield from _references(rows, manifest, manifest.document(), ())
    for pods in index.pods:
        # The rows for ANY include the labels of a Pod object.
        rows = [row for row in _BY_SOURCE[POD] if pods.path or row[1][0] != "metadata"]
        yield from _references(rows, pods.manifest, pods.template, pods.path)


def _references(
    rows: list[tuple[Reference, Pattern]], manifest: Manifest, document: Any, under: Path
) -> Iterator[ObjectReference]:
    """Yields the references of a document: an object, or the pod template at a path of the object."""
    for reference, steps in rows:
        for path, value in matching_values(document, steps):
            rule = REFERENCES[reference]
            if resolved := object_reference(reference, rule, manifest, path, value, document, under):
                yield resolved
