"""Trees of YAML text as `gpuc lint` reads them, of the example clusters, and their findings in short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from textwrap import dedent
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.lint.checks.references import findings
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.stages import compiled_spec
from tests.conftest import ROOT


def tree(*texts: str, whole: bool = False) -> ObjectSet:
    """The objects of YAML texts."""
    reading = LoadedFiles()
    for number, text in enumerate(texts):
        reading.add(f"{number}.yaml", dedent(text))
    assert reading.findings == []
    return ObjectSet(reading.manifests, is_complete=whole)


def told(*texts: str, whole: bool = False) -> list[tuple[str, str, str]]:
    """Id, object and fix of every finding of YAML texts."""
    return [(each.rule.id, str(each.manifest), each.fix) for each in findings(tree(*texts, whole=whole))]


def ids(*texts: str, whole: bool = False) -> list[str]:
    """The ids of all findings of YAML texts."""
    return [each.rule.id for each in findings(tree(*texts, whole=whole))]


@cache
def example_objects(name: str) -> tuple[Manifest, ...]:
    """Every object that an example spec compiles to, workload templates among them."""
    return tuple(each for each in compiled_spec(ROOT, f"specs/{name}.yaml").artifacts if isinstance(each, Manifest))


@cache
def synced_objects(name: str) -> tuple[Manifest, ...]:
    """The objects of an example that Argo CD applies."""
    return compiled_spec(ROOT, f"specs/{name}.yaml").synced


@cache
def example_charts(name: str) -> Mapping[str, Any]:
    """The Helm values of an example by their chart."""
    return compiled_spec(ROOT, f"specs/{name}.yaml").charts


def judged(manifests: Iterable[Manifest], *, whole: bool, charts_of: str = "") -> list[ObjectFinding]:
    """The findings of a tree of these objects, beside the charts of an example."""
    values = example_charts(charts_of) if charts_of else None
    return list(findings(ObjectSet(manifests, is_complete=whole, values=values)))


def replaced(manifests: Iterable[Manifest], old: Manifest, new: Manifest) -> list[Manifest]:
    """The objects with one in the place of another."""
    return [new if each is old else each for each in manifests]


def with_value(manifest: Manifest, path: Path, value: Any) -> Manifest:
    """The object with another value at a path of its document."""
    if path == ("kind",):
        return replace(manifest, kind=value)
    if path[:2] == ("metadata", "labels"):
        return replace(manifest, labels={**manifest.labels, str(path[2]): value})
    if path == ("metadata", "namespace"):
        return replace(manifest, namespace=value)
    body = deepcopy(manifest.body)
    part: Any = body
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return replace(manifest, body=body)
