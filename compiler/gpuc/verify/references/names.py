"""The fields in which objects name other objects, and the check that the named objects exist."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.contract import Needs, When
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import by_first, group
from gpuc.objects.paths import Pattern, matching_values, pattern
from gpuc.objects.pods import CONFIG_MAPS
from gpuc.parts.workload_kinds import workload_kinds
from gpuc.verify import CHECKS, Findings, rule_of
from gpuc.verify.references.reference import (
    ANY,
    POD,
    TABLE,
    ObjectReference,
    Reference,
    check_reference,
    object_reference,
)
from gpuc.verify.subject import Subject

if TYPE_CHECKING:
    from gpuc.cluster.index import Index

_LABELLED = [
    (kind.name, ".".join(path))
    for kind in workload_kinds()
    for path in kind.queueing.labels
    if ".".join(path[:-2]) not in ("", *kind.templates)
]
"""Kinds whose Kueue labels are neither on the object nor on its pods, and the paths of the labels."""
_FURTHER = {
    "REF002": [
        Reference(kind, f"{labels}.{{{GROUP}/queue-name}}", f"{GROUP}/LocalQueue") for kind, labels in _LABELLED
    ],
    "REF003": [
        Reference(kind, f"{labels}.{{{GROUP}/priority-class}}", f"{GROUP}/WorkloadPriorityClass")
        for kind, labels in _LABELLED
    ],
    "REF006": [Reference(POD, path, "ConfigMap") for path in CONFIG_MAPS],
}
"""Rows that follow from the records of workloads and from the fields of pods with ConfigMaps, by rule id."""
_IDS = ("REF001", "REF002", "REF003", "REF004", "REF005", "REF006", "REF008", "REF009", "REF010", "PLC005")
_RULES = tuple(map(rule_of, _IDS))
UNKNOWN_IN_PARAMETER = _RULES[-1]
_ROWS = {rule: [Reference(*row[:4], *map(tuple, row[4:])) for row in TABLE[rule.id]] for rule in _RULES}
REFERENCES = {row: rule for rule, rows in _ROWS.items() for row in (*rows, *_FURTHER.get(rule.id, ()))}
"""All fields in which objects refer to other objects, with the rules about missing objects."""

_BY_SOURCE = by_first((row.source, (row, pattern(row.path))) for row in REFERENCES)


@CHECKS.finds(*_RULES, needs=Needs.OBJECTS, when=When.BOTH)
def references(subject: Subject) -> Findings:
    """Yields a finding for every field that names an object that does not exist."""
    for reference in sorted(object_references(subject.index), key=lambda reference: reference.rule.id):
        yield from check_reference(reference, subject.index)


def object_references(index: "Index") -> Iterator[ObjectReference]:
    """Yields every field in which an object names another object."""
    for manifest in index.tree.manifests:
        rows = _rows(manifest)
        rows = [*rows, *_BY_SOURCE.get(f"{group(manifest)}/*", []), *(_BY_SOURCE[ANY] if manifest.labels else ())]
        if rows:
            yield from _references(rows, manifest, manifest.document(), ())
    for pods in index.pods:
        # The rows for ANY include the labels of a Pod object.
        rows = [row for row in _BY_SOURCE[POD] if pods.path or row[1][0] != "metadata"]
        if not pods.record.creates_pods:  # the claim of a runtime must exist when a job names the runtime
            rows = [row for row in rows if row[0].target != "PersistentVolumeClaim"]
        yield from _references(rows, pods.manifest, pods.template, pods.path)


def reference_paths(manifest: Manifest) -> set[Path]:
    """Returns the paths of the fields in which an object names other objects."""
    return {path for _, steps in _rows(manifest) for path, _ in matching_values(manifest.body, steps)}


def _rows(manifest: Manifest) -> list[tuple[Reference, Pattern]]:
    api_group = group(manifest)
    return _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])


def _references(
    rows: list[tuple[Reference, Pattern]], manifest: Manifest, document: Any, under: Path
) -> Iterator[ObjectReference]:
    """Yields the references of a document: an object, or the pod template at a path of the object."""
    for reference, steps in rows:
        for path, value in matching_values(document, steps):
            rule = REFERENCES[reference]
            if resolved := object_reference(reference, rule, manifest, path, value, document, under):
                yield resolved
