"""Finds the Helm charts that Argo CD, Flux, Kustomize and k3s install, with their versions and values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items, pairs

MapDocument = tuple[str, int, dict[str, Any]]
"""A YAML map that is not a Kubernetes object: its file, the index of the document in the file, its data."""


@dataclass(frozen=True, slots=True)
class ValuesSource:
    """Helm values in one file, object field or parameter. Values of later sources override those of earlier ones."""

    file: str
    index: int
    path: Path
    """Path of the values in the document."""
    value: Any
    """The values: a map, or a YAML text."""
    chart_path: Path = ()
    """Path of the chart's own values in the values: the values of a dependency are below the name of the dependency."""
    is_parameter: bool = False
    """Whether the source is one parameter, as in `helm --set`. The path of a parameter is the path of its findings."""


@dataclass(frozen=True, slots=True)
class ChartInstall:
    """A chart that is installed in one version with some values."""

    chart: str
    version: str
    by: str
    """The object or file that installs the chart, as text for messages: "Application argocd/gpu-operator"."""
    sources: tuple[ValuesSource, ...]
    is_complete: bool = True
    """Whether the sources have all values. Values in a Secret, or in a file that is not loaded, are missing."""
    ignored: frozenset[Path] = frozenset()
    """Paths of values that Helm itself reads: the conditions of dependencies."""


def chart_installs(
    manifests: Iterable[Manifest], other_maps: list[MapDocument], kustomizations: list[MapDocument]
) -> Iterator[ChartInstall]:
    """Every chart that an object, a Kustomization or an umbrella chart installs.

    Args:
        other_maps: maps that are not Kubernetes objects, including values files and Chart.yaml.
    """
    loaded = _Input(tuple(manifests), other_maps)
    for manifest in loaded.manifests:
        found = _KINDS.get((group(manifest), manifest.kind))
        if found is not None:
            yield from found(manifest, loaded)
    for file, index, data in kustomizations:
        yield from _kustomization(file, index, data, loaded)
    for chart in loaded.charts.values():
        yield from _umbrella(chart, loaded)


@dataclass(frozen=True, slots=True)
class _Chart:
    """A Chart.yaml with dependencies: an umbrella chart."""

    file: str
    dependencies: tuple[tuple[str, str, str, str], ...]
    """Chart, version, key of its values, and condition of every dependency."""


class _Input:
    """The objects and maps of all files, with look-ups by path."""

    def __init__(self, manifests: tuple[Manifest, ...], documents: list[MapDocument]) -> None:
        self.manifests = manifests
        self._files = {os.path.abspath(file): (file, index, data) for file, index, data in reversed(documents)}
        self.charts: dict[str, _Chart] = {}
        for path, (file, _, data) in self._files.items():
            if is_chart(file, data) and (chart := _Chart(file, tuple(_dependencies(data)))).dependencies:
                self.charts[os.path.dirname(path)] = chart

    def at(self, path: str) -> MapDocument | None:
        """The map in the file whose path ends with a path; None if no file or several files match."""
        tail = "/" + os.path.normpath(path).lstrip("./")
        found = [document for known, document in self._files.items() if known.endswith(tail)]
        return found[0] if len(found) == 1 else None

    def beside(self, file: str, name: str) -> MapDocument | None:
        """The map in the file with a path relative to another file."""
        return self._files.get(os.path.abspath(os.path.join(os.path.dirname(file), name)))

    def siblings(self, file: str, start: str) -> list[MapDocument]:
        """The maps in the files of the same folder whose names start with a text, sorted by name."""
        folder = os.path.dirname(os.path.abspath(file))
        return [
            self._files[path]
            for path in sorted(self._files)
            if os.path.dirname(path) == folder and os.path.basename(path).startswith(start)
        ]


def is_chart(file: str, data: dict[str, Any]) -> bool:
    """Whether a map is a Chart.yaml, which describes a Helm chart."""
    return os.path.basename(file) == "Chart.yaml" and data.get("apiVersion") in ("v1", "v2") and "name" in data


def _dependencies(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for _, entry in items(data.get("dependencies")):
        name = dig(entry, "name")
        if isinstance(name, str):
            yield name, _text(dig(entry, "version")), _text(dig(entry, "alias")) or name, _text(dig(entry, "condition"))


def _umbrella(chart: _Chart, loaded: _Input) -> Iterator[ChartInstall]:
    """The dependencies of an umbrella chart, once for every other values file that overrides its values.yaml."""
    first = loaded.beside(chart.file, "values.yaml")
    others = [file for file in loaded.siblings(chart.file, "values") if first is None or file[0] != first[0]]
    for layers in [[first]] + [[first, other] for other in others]:
        known = [layer for layer in layers if layer is not None]
        sources = [ValuesSource(file, index, (), data) for file, index, data in known]
        yield from _dependency_installs(chart, f"chart {chart.file}", sources, is_complete=not others)


def _dependency_installs(
    chart: _Chart, by: str, sources: list[ValuesSource], *, is_complete: bool
) -> Iterator[ChartInstall]:
    for name, version, key, condition in chart.dependencies:
        own_sources = tuple(replace(source, chart_path=(key,)) for source in sources)
        conditions = (tuple(path.strip().split(".")) for path in condition.split(",") if path.strip())
        ignored = frozenset(path[1:] for path in conditions if path[0] == key)
        yield ChartInstall(name, version, by, own_sources, is_complete, ignored)


def _application(manifest: Manifest, loaded: _Input) -> Iterator[ChartInstall]:
    at: Path = ("spec",) if manifest.kind == "Application" else ("spec", "template", "spec")
    spec = dig(manifest.body, *at)
    listed: list[tuple[Path, Any]] = [((*at, "sources", n), source) for n, source in items(dig(spec, "sources"))]
    for path, source in listed or [((*at, "source"), dig(spec, "source"))]:
        if not isinstance(source, dict):
            continue
        sources, is_complete = _argo_sources(manifest, path, source, loaded)
        chart, version = _text(source.get("chart")), _text(source.get("targetRevision"))
        repository = _text(source.get("repoURL"))
        if chart or repository.startswith("oci://"):
            yield ChartInstall(_last(chart or repository), version, str(manifest), tuple(sources), is_complete)
        elif local := _chart_at(_text(source.get("path")), loaded):
            yield from _dependency_installs(local, str(manifest), sources, is_complete=is_complete)


def _argo_sources(
    manifest: Manifest, path: Path, source: dict[str, Any], loaded: _Input
) -> tuple[list[ValuesSource], bool]:
    """The values of an Application's source in their order: files, then valuesObject or values, then parameters.

    Source: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence
    """
    helm, sources, is_complete = source.get("helm"), [], True
    for _, name in items(dig(helm, "valueFiles")):
        folder = _text(source.get("path"))
        reference, _, rest = _text(name).partition("/") if _text(name).startswith("$") else ("", "", "")
        found = loaded.at(rest if reference else os.path.join(folder, _text(name))) if reference or folder else None
        if found is None:
            is_complete = False
        else:
            sources.append(ValuesSource(found[0], found[1], (), found[2]))
    if isinstance(dig(helm, "valuesObject"), dict):
        sources.append(_source_in(manifest, (*path, "helm", "valuesObject"), dig(helm, "valuesObject")))
    elif _text(dig(helm, "values")):
        sources.append(_source_in(manifest, (*path, "helm", "values"), dig(helm, "values")))
    for number, parameter in items(dig(helm, "parameters")):
        name, value = _text(dig(parameter, "name")), dig(parameter, "value")
        if name and not any(sign in name for sign in "[\\{"):
            at = (*path, "helm", "parameters", number, "name")
            typed = value if dig(parameter, "forceString") else _typed(value)
            sources.append(_source_in(manifest, at, _nested(name.split("."), typed), is_parameter=True))
    return sources, is_complete and not dig(helm, "fileParameters")


def _release(manifest: Manifest, loaded: _Input) -> Iterator[ChartInstall]:
    """The chart of a Flux HelmRelease. Its values override those of valuesFrom."""
    spec = manifest.body.get("spec")
    sources, is_complete = [], True
    for _, entry in items(dig(spec, "valuesFrom")):
        is_config_map = dig(entry, "kind") == "ConfigMap"
        found = _config_map(dig(entry, "name"), manifest.namespace, loaded) if is_config_map else None
        key = _text(dig(entry, "valuesKey")) or "values.yaml"
        text = _text(dig(found.body, "data", key)) if found else ""
        if found is None or not text or dig(entry, "targetPath"):
            is_complete = False
        else:
            sources.append(_source_in(found, ("data", key), text))
    if isinstance(dig(spec, "values"), dict):
        sources.append(_source_in(manifest, ("spec", "values"), dig(spec, "values")))
    chart, version = (_text(dig(spec, "chart", "spec", key)) for key in ("chart", "version"))
    if dig(spec, "chartRef", "kind") == "OCIRepository":
        chart, version = _oci(_text(dig(spec, "chartRef", "name")), loaded)
    if local := _chart_at(chart, loaded) if "/" in chart else None:
        yield from _dependency_installs(local, str(manifest), sources, is_complete=is_complete)
    elif chart:
        yield ChartInstall(_last(chart), version, str(manifest), tuple(sources), is_complete)


def _oci(name: str, loaded: _Input) -> tuple[str, str]:
    for manifest in loaded.manifests:
        if manifest.kind == "OCIRepository" and manifest.name == name:
            return _text(dig(manifest.body, "spec", "url")), _text(dig(manifest.body, "spec", "ref", "tag"))
    return "", ""


def _config_map(name: Any, namespace: str, loaded: _Input) -> Manifest | None:
    for manifest in loaded.manifests:
        if (manifest.api, manifest.kind, manifest.name, manifest.namespace) == ("v1", "ConfigMap", name, namespace):
            return manifest
    return None


def _k3s(manifest: Manifest, _: _Input) -> Iterator[ChartInstall]:
    """The chart of a HelmChart, which k3s and RKE2 install."""
    spec = manifest.body.get("spec")
    chart, text = _text(dig(spec, "chart")), _text(dig(spec, "valuesContent"))
    sources = (_source_in(manifest, ("spec", "valuesContent"), text),) if text else ()
    if chart:
        yield ChartInstall(_last(chart), _text(dig(spec, "version")), str(manifest), sources, not dig(spec, "set"))


def _kustomization(file: str, index: int, data: dict[str, Any], loaded: _Input) -> Iterator[ChartInstall]:
    for number, entry in items(data.get("helmCharts")):
        named = [entry.get("valuesFile")] if isinstance(entry, dict) else []
        named += [name for _, name in items(dig(entry, "additionalValuesFiles"))]
        found = [loaded.beside(file, name) for name in named if isinstance(name, str)]
        sources = [ValuesSource(values[0], values[1], (), values[2]) for values in found if values is not None]
        if isinstance(dig(entry, "valuesInline"), dict):
            at = ("helmCharts", number, "valuesInline")
            sources.append(ValuesSource(file, index, at, dig(entry, "valuesInline")))
        if chart := _text(dig(entry, "name")):
            version, by = _text(dig(entry, "version")), f"Kustomization {file}"
            yield ChartInstall(chart, version, by, tuple(sources), None not in found)


_KINDS: dict[tuple[str, str], Callable[[Manifest, _Input], Iterator[ChartInstall]]] = {
    ("argoproj.io", "Application"): _application,
    ("argoproj.io", "ApplicationSet"): _application,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _release,
    ("helm.cattle.io", "HelmChart"): _k3s,
}


def _source_in(manifest: Manifest, path: Path, value: Any, *, is_parameter: bool = False) -> ValuesSource:
    index, *prefix = manifest.origin
    assert isinstance(index, int), "the origin of a loaded object begins with the index of its document"
    return ValuesSource(manifest.file, index, (*prefix, *path), value, is_parameter=is_parameter)


def _chart_at(path: str, loaded: _Input) -> _Chart | None:
    tail = "/" + os.path.normpath(path).lstrip("./") if path else None
    found = [chart for folder, chart in loaded.charts.items() if tail and folder.endswith(tail)]
    return found[0] if len(found) == 1 else None


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _nested(keys: list[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _typed(value: Any) -> Any:
    """The value that Helm reads from the text of `--set`."""
    words = {"true": True, "false": False, "null": None}
    if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit():
        return int(value)
    return words.get(value, value) if isinstance(value, str) else value


def merged_values(base: Any, override: Any) -> Any:
    """Values merged as Helm does: maps are merged by key, other values are replaced, and a null removes the key."""
    if not isinstance(base, dict) or not isinstance(override, dict):
        return override
    merged = dict(base)
    for key, value in pairs(override):
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merged_values(merged.get(key), value)
    return merged
