"""Which charts a tree installs, and with which values: what Argo CD, Flux, Kustomize and k3s read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items, pairs

Document = tuple[str, int, dict[str, Any]]
"""A map that is no object: its file, its index in that file, its data."""


@dataclass(frozen=True, slots=True)
class Part:
    """Values at one place; later parts of an install go before earlier ones, key by key."""

    file: str
    index: int
    path: Path
    """Where the map stands in its document, or the text that holds one."""
    value: Any
    """The map, or the text."""
    below: Path = ()
    """Where in that map the chart's own values begin: those of a dependency stand below its name."""
    is_set: bool = False
    """Whether the value is one parameter as `helm --set` takes it; its findings stand at the path itself."""


@dataclass(frozen=True, slots=True)
class Install:
    """One chart in one version with its values."""

    chart: str
    version: str
    by: str
    """What installs it, for a reader: "Application argocd/gpu-operator"."""
    parts: tuple[Part, ...]
    is_complete: bool = True
    """Whether all its values are among the parts: none come from a Secret or from a file that was not read."""
    ignored: frozenset[Path] = frozenset()
    """Keys that Helm itself reads: the conditions of dependencies."""


def installs(manifests: Iterable[Manifest], documents: list[Document], tools: list[Document]) -> Iterator[Install]:
    """Every chart that objects, Kustomizations or charts with dependencies install.

    Args:
        documents: maps that are no objects, among them files of values and Chart.yaml.
        tools: documents that tools read, among them Kustomizations.
    """
    seen = _Seen(tuple(manifests), documents)
    for manifest in seen.manifests:
        found = _KINDS.get((group(manifest), manifest.kind))
        if found is not None:
            yield from found(manifest, seen)
    for file, index, data in tools:
        yield from _kustomized(file, index, data, seen)
    for chart in seen.charts.values():
        yield from _umbrella(chart, seen)


@dataclass(frozen=True, slots=True)
class _Chart:
    """A Chart.yaml with dependencies."""

    file: str
    dependencies: tuple[tuple[str, str, str, str], ...]
    """Chart, version, the key its values stand at, and its condition."""


class _Seen:
    """What the files hold, by what installs look for."""

    def __init__(self, manifests: tuple[Manifest, ...], documents: list[Document]) -> None:
        self.manifests = manifests
        self._files = {os.path.abspath(file): (file, index, data) for file, index, data in reversed(documents)}
        self.charts: dict[str, _Chart] = {}
        for path, (file, _, data) in self._files.items():
            if is_chart(file, data) and (chart := _Chart(file, tuple(_dependencies(data)))).dependencies:
                self.charts[os.path.dirname(path)] = chart

    def at(self, path: str) -> Document | None:
        """The map of a file by the last parts of its path; None where none or several files have it."""
        tail = "/" + os.path.normpath(path).lstrip("./")
        found = [each for known, each in self._files.items() if known.endswith(tail)]
        return found[0] if len(found) == 1 else None

    def beside(self, file: str, name: str) -> Document | None:
        """The map of a file by its path from another file."""
        return self._files.get(os.path.abspath(os.path.join(os.path.dirname(file), name)))

    def siblings(self, file: str, start: str) -> list[Document]:
        """The maps of a file's folder whose names start in a way, sorted."""
        folder = os.path.dirname(os.path.abspath(file))
        return [
            self._files[path]
            for path in sorted(self._files)
            if os.path.dirname(path) == folder and os.path.basename(path).startswith(start)
        ]


def is_chart(file: str, data: dict[str, Any]) -> bool:
    """Whether a map is what describes a Helm chart: no object, and no values."""
    return os.path.basename(file) == "Chart.yaml" and data.get("apiVersion") in ("v1", "v2") and "name" in data


def _dependencies(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for _, each in items(data.get("dependencies")):
        name = dig(each, "name")
        if isinstance(name, str):
            yield name, _text(dig(each, "version")), _text(dig(each, "alias")) or name, _text(dig(each, "condition"))


def _umbrella(chart: _Chart, seen: _Seen) -> Iterator[Install]:
    """The dependencies of a chart, with each of the values files beside it: values.yaml goes before the others."""
    first = seen.beside(chart.file, "values.yaml")
    others = [each for each in seen.siblings(chart.file, "values") if first is None or each[0] != first[0]]
    for layers in [[first]] + [[first, each] for each in others]:
        known = [each for each in layers if each is not None]
        parts = [Part(file, index, (), data) for file, index, data in known]
        yield from _below(chart, f"chart {chart.file}", parts, is_complete=not others)


def _below(chart: _Chart, by: str, parts: list[Part], *, is_complete: bool) -> Iterator[Install]:
    for name, version, key, condition in chart.dependencies:
        own = tuple(Part(each.file, each.index, each.path, each.value, (key,), each.is_set) for each in parts)
        conditions = (tuple(each.strip().split(".")) for each in condition.split(",") if each.strip())
        ignored = frozenset(each[1:] for each in conditions if each[0] == key)
        yield Install(name, version, by, own, is_complete, ignored)


def _application(manifest: Manifest, seen: _Seen) -> Iterator[Install]:
    at: Path = ("spec",) if manifest.kind == "Application" else ("spec", "template", "spec")
    spec = dig(manifest.body, *at)
    sources: list[tuple[Path, Any]] = [((*at, "sources", number), each) for number, each in items(dig(spec, "sources"))]
    for path, source in sources or [((*at, "source"), dig(spec, "source"))]:
        if not isinstance(source, dict):
            continue
        parts, is_complete = _argo_parts(manifest, path, source, seen)
        chart, version = _text(source.get("chart")), _text(source.get("targetRevision"))
        repository = _text(source.get("repoURL"))
        if chart or repository.startswith("oci://"):
            yield Install(_last(chart or repository), version, str(manifest), tuple(parts), is_complete)
        elif local := _chart_at(_text(source.get("path")), seen):
            yield from _below(local, str(manifest), parts, is_complete=is_complete)


def _argo_parts(manifest: Manifest, path: Path, source: dict[str, Any], seen: _Seen) -> tuple[list[Part], bool]:
    """Files, then the text or else the map, then parameters.

    Source: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence
    """
    helm, parts, is_complete = source.get("helm"), [], True
    for _, name in items(dig(helm, "valueFiles")):
        folder = _text(source.get("path"))
        reference, _, rest = _text(name).partition("/") if _text(name).startswith("$") else ("", "", "")
        found = seen.at(rest if reference else os.path.join(folder, _text(name))) if reference or folder else None
        if found is None:
            is_complete = False
        else:
            parts.append(Part(found[0], found[1], (), found[2]))
    if isinstance(dig(helm, "valuesObject"), dict):
        parts.append(_inside(manifest, (*path, "helm", "valuesObject"), dig(helm, "valuesObject")))
    elif _text(dig(helm, "values")):
        parts.append(_inside(manifest, (*path, "helm", "values"), dig(helm, "values")))
    for number, each in items(dig(helm, "parameters")):
        name, value = _text(dig(each, "name")), dig(each, "value")
        if name and not any(sign in name for sign in "[\\{"):
            at = (*path, "helm", "parameters", number, "name")
            typed = value if dig(each, "forceString") else _typed(value)
            parts.append(_inside(manifest, at, _nested(name.split("."), typed), is_set=True))
    return parts, is_complete and not dig(helm, "fileParameters")


def _release(manifest: Manifest, seen: _Seen) -> Iterator[Install]:
    """Flux: what valuesFrom names, then the values."""
    spec = manifest.body.get("spec")
    parts, is_complete = [], True
    for _, each in items(dig(spec, "valuesFrom")):
        found = _config_map(dig(each, "name"), manifest.namespace, seen) if dig(each, "kind") == "ConfigMap" else None
        key = _text(dig(each, "valuesKey")) or "values.yaml"
        text = _text(dig(found.body, "data", key)) if found else ""
        if found is None or not text or dig(each, "targetPath"):
            is_complete = False
        else:
            parts.append(_inside(found, ("data", key), text))
    if isinstance(dig(spec, "values"), dict):
        parts.append(_inside(manifest, ("spec", "values"), dig(spec, "values")))
    chart, version = (_text(dig(spec, "chart", "spec", key)) for key in ("chart", "version"))
    if dig(spec, "chartRef", "kind") == "OCIRepository":
        chart, version = _oci(_text(dig(spec, "chartRef", "name")), seen)
    if local := _chart_at(chart, seen) if "/" in chart else None:
        yield from _below(local, str(manifest), parts, is_complete=is_complete)
    elif chart:
        yield Install(_last(chart), version, str(manifest), tuple(parts), is_complete)


def _oci(name: str, seen: _Seen) -> tuple[str, str]:
    for each in seen.manifests:
        if each.kind == "OCIRepository" and each.name == name:
            return _text(dig(each.body, "spec", "url")), _text(dig(each.body, "spec", "ref", "tag"))
    return "", ""


def _config_map(name: Any, namespace: str, seen: _Seen) -> Manifest | None:
    wanted = ("v1", "ConfigMap", name, namespace)
    return next((each for each in seen.manifests if (each.api, each.kind, each.name, each.namespace) == wanted), None)


def _k3s(manifest: Manifest, _: _Seen) -> Iterator[Install]:
    """What k3s and RKE2 install by themselves."""
    spec = manifest.body.get("spec")
    chart, text = _text(dig(spec, "chart")), _text(dig(spec, "valuesContent"))
    parts = (_inside(manifest, ("spec", "valuesContent"), text),) if text else ()
    if chart:
        yield Install(_last(chart), _text(dig(spec, "version")), str(manifest), parts, not dig(spec, "set"))


def _kustomized(file: str, index: int, data: dict[str, Any], seen: _Seen) -> Iterator[Install]:
    for number, each in items(data.get("helmCharts")):
        parts = []
        named = [each.get("valuesFile")] if isinstance(each, dict) else []
        named += [name for _, name in items(dig(each, "additionalValuesFiles"))]
        found = [seen.beside(file, name) for name in named if isinstance(name, str)]
        parts = [Part(one[0], one[1], (), one[2]) for one in found if one is not None]
        if isinstance(dig(each, "valuesInline"), dict):
            at = ("helmCharts", number, "valuesInline")
            parts.append(Part(file, index, at, dig(each, "valuesInline")))
        if chart := _text(dig(each, "name")):
            yield Install(chart, _text(dig(each, "version")), f"Kustomization {file}", tuple(parts), None not in found)


_KINDS: dict[tuple[str, str], Callable[[Manifest, _Seen], Iterator[Install]]] = {
    ("argoproj.io", "Application"): _application,
    ("argoproj.io", "ApplicationSet"): _application,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _release,
    ("helm.cattle.io", "HelmChart"): _k3s,
}


def _inside(manifest: Manifest, path: Path, value: Any, *, is_set: bool = False) -> Part:
    index, *prefix = manifest.origin
    assert isinstance(index, int), "the origin of a read object begins with the index of its document"
    return Part(manifest.file, index, (*prefix, *path), value, is_set=is_set)


def _chart_at(path: str, seen: _Seen) -> _Chart | None:
    tail = "/" + os.path.normpath(path).lstrip("./") if path else None
    found = [chart for folder, chart in seen.charts.items() if tail and folder.endswith(tail)]
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
    """What Helm makes of a text behind --set."""
    words = {"true": True, "false": False, "null": None}
    if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit():
        return int(value)
    return words.get(value, value) if isinstance(value, str) else value


def merged(below: Any, above: Any) -> Any:
    """Values over values as Helm lays them: maps key by key, all else whole; a null takes a key away."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    found = dict(below)
    for key, value in pairs(above):
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found
