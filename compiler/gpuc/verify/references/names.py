"""Names: each row of the table is a place where one kind of object names another."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.contract import modules
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import group
from gpuc.objects.paths import pattern, places
from gpuc.objects.pods import Pods
from gpuc.verify.references.reference import ANY, POD, Reference, Use, judge, use

REFERENCES: tuple[Reference, ...] = tuple(row for module in modules(__package__) for row in getattr(module, "ROWS", ()))
"""Every place at which an object names another: the rows of the modules beside this one."""

_BY_SOURCE: dict[str, list[tuple[Reference, tuple[str, ...]]]] = {}
for _each in REFERENCES:
    _BY_SOURCE.setdefault(_each.source, []).append((_each, pattern(_each.path)))


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Every name that leads nowhere, in the order of the objects."""
    for seen in uses(index):
        yield from judge(seen, index)


def uses(index: Index) -> Iterator[Use]:
    """Every place at which an object of the tree names another."""
    for manifest in index.tree.manifests:
        api_group = group(manifest)
        rows = _BY_SOURCE.get(f"{api_group}/{manifest.kind}" if api_group else manifest.kind, [])
        wide = _BY_SOURCE.get(f"{api_group}/*", [])
        if not (rows or wide or manifest.labels):
            continue
        document = manifest.document()
        for reference, steps in (*rows, *wide, *(_BY_SOURCE[ANY] if manifest.labels else ())):
            for path, value in places(document, steps):
                if seen := use(reference, manifest, path, value, document):
                    yield seen
    for each in index.pods:
        yield from _of(each)


def _of(each: Pods) -> Iterator[Use]:
    for reference, steps in _BY_SOURCE[POD]:
        if not each.path and steps[0] == "metadata":
            continue  # a bare pod's own labels are those of any object
        for path, value in places(each.template, steps):
            if seen := use(reference, each.manifest, path, value, each.template, under=each.path):
                yield seen
