"""Object sets from YAML texts and from the example clusters, and short forms of their findings."""

from collections.abc import Iterable, Mapping
from functools import cache
from textwrap import dedent
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.lint.knowledge import ALL_OBJECTS
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example
from tests.lint.checks.topics import references
from tests.values import changed


def tree(*texts: str, is_complete: bool = False) -> ObjectSet:
    """The objects of YAML texts, read as `gpuc lint` reads them."""
    reading = LoadedFiles()
    for number, text in enumerate(texts):
        reading.add(f"{number}.yaml", dedent(text))
    assert reading.findings == []
    return ObjectSet(reading.manifests, is_complete=is_complete)


def findings(objects: ObjectSet) -> list[ObjectFinding]:
    """The findings about references, without those that only all objects of a cluster prove."""
    found = [(row, row.rule.needs if row.needs is None else row.needs) for row in references(objects)]
    return [row for row, needs in found if objects.is_complete or ALL_OBJECTS not in needs]


def reported(*texts: str, is_complete: bool = False) -> list[tuple[str, str, str]]:
    """Id, object and fix of every finding of YAML texts."""
    return [
        (finding.rule.id, str(finding.manifest), finding.fix)
        for finding in findings(tree(*texts, is_complete=is_complete))
    ]


def ids(*texts: str, is_complete: bool = False) -> list[str]:
    """The ids of all findings of YAML texts."""
    return [finding.rule.id for finding in findings(tree(*texts, is_complete=is_complete))]


@cache
def example_objects(name: str) -> tuple[Manifest, ...]:
    """Every object that an example spec compiles to, workload templates among them."""
    return tuple(manifest for manifest in compiled_example(name).artifacts if isinstance(manifest, Manifest))


@cache
def synced_objects(name: str) -> tuple[Manifest, ...]:
    """The objects of an example that Argo CD applies."""
    return compiled_example(name).synced


@cache
def example_charts(name: str) -> Mapping[str, Any]:
    """The Helm values of an example, by chart."""
    return compiled_example(name).charts


def findings_of(manifests: Iterable[Manifest], *, is_complete: bool, charts_of: str = "") -> list[ObjectFinding]:
    """The findings in these objects, with the chart values of an example."""
    values = example_charts(charts_of) if charts_of else None
    return findings(ObjectSet(manifests, is_complete=is_complete, values=values))


def replaced(manifests: Iterable[Manifest], old: Manifest, new: Manifest) -> list[Manifest]:
    """The objects, one of them replaced."""
    return [new if manifest is old else manifest for manifest in manifests]


def with_value(manifest: Manifest, path: Path, value: Any) -> Manifest:
    """The object with another value at a path of its document."""
    if path == ("kind",):
        return replace(manifest, kind=value)
    if path[:2] == ("metadata", "labels"):
        return replace(manifest, labels={**manifest.labels, str(path[2]): value})
    if path == ("metadata", "namespace"):
        return replace(manifest, namespace=value)
    return replace(manifest, body=changed(manifest.body, path, value))
