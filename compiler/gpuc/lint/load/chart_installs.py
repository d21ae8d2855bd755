"""Finds the Helm charts that Argo CD, Flux, Kustomize and k3s install, with their versions and values."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gpuc.cluster.application import application_in
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items, pairs

T = TypeVar("T")
_OF_OTHER_TEAM = re.compile(r"(?:^|/)clusters/[^/]+/values/([a-z-]+)\.yaml$")
"""The path of the Helm values of a component that another team installs."""
MapDocument = tuple[str, int, dict[str, Any]]
"""The file, the index of the document in the file, and the data of a YAML map that is not a Kubernetes object."""


class ValuesSource(Struct, frozen=True):
    """One source of Helm values: a file, a field of an object or a parameter. A later source overrides earlier ones."""

    file: str
    path: Path
    """The index of the document in the file, and the path of the values in the document."""
    value: Any
    """The values: a map, or a string with YAML."""
    chart_path: Path = ()
    """The path of the chart's own values within the value: values of a dependency are below the dependency's name."""
    is_parameter: bool = False
    """Whether the source is one parameter, as in `helm --set`. All findings about a parameter are at `path`."""


class ChartInstall(Struct, frozen=True):
    """One installation of a chart, by an object or a file: the version and the Helm values."""

    chart: str
    version: str
    sources: tuple[ValuesSource, ...]
    is_complete: bool = True
    """Whether the sources have all values: no values are in a Secret or in a file that is not loaded."""
    ignored: frozenset[Path] = frozenset()
    """Paths of values that Helm reads and the chart does not: the conditions of dependencies."""


def chart_installs(
    manifests: Iterable[Manifest], other_maps: list[MapDocument], kustomizations: list[MapDocument]
) -> Iterator[ChartInstall]:
    """Yields every chart that an object, a Kustomization or an umbrella chart (a chart of dependencies) installs.

    Args:
        other_maps: maps that are not Kubernetes objects, including values files and Chart.yaml.
    """
    loaded = _Input(tuple(manifests), other_maps)
    for manifest in loaded.manifests:
        installs_of = _KINDS.get((group(manifest), manifest.kind))
        if installs_of is not None:
            yield from installs_of(manifest, loaded)
    for file, index, data in kustomizations:
        yield from _kustomization(file, index, data, loaded)
    for chart in loaded.charts.values():
        yield from _umbrella(chart, loaded)
    yield from _of_other_teams(other_maps)


def _of_other_teams(maps: list[MapDocument]) -> Iterator[ChartInstall]:
    """Yields the charts that other teams install with the values that gpuc writes: components with `managed: false`.

    The version is that of the newest release set, because the file does not contain the declared version.
    """
    from gpuc.catalog import load

    releases = load().releases
    known = releases[max(releases)]
    for file, index, data in maps:
        match = _OF_OTHER_TEAM.search(file)
        if match is not None and match[1] in known:
            release = known[match[1]]
            yield ChartInstall(release.chart, release.version, (ValuesSource(file, (index,), data),))


class _Chart(Struct, frozen=True):
    """An umbrella chart: a Chart.yaml with dependencies."""

    file: str
    dependencies: tuple[tuple[str, str, str, str], ...]
    """Chart, version, key of the dependency's values, and condition of every dependency."""


class _Input:
    """The objects and maps of all files. The methods find a map by the path of its file."""

    def __init__(self, manifests: tuple[Manifest, ...], documents: list[MapDocument]) -> None:
        self.manifests = manifests
        self._files = {os.path.abspath(file): (file, index, data) for file, index, data in reversed(documents)}
        self.charts: dict[str, _Chart] = {}
        for path, (file, _, data) in self._files.items():
            if is_chart(file, data) and (chart := _Chart(file, tuple(_dependencies(data)))).dependencies:
                self.charts[os.path.dirname(path)] = chart

    def at(self, path: str) -> MapDocument | None:
        """Returns the map in the file whose path ends with `path`; None if no file, or more than one file, matches."""
        return _at(path, self._files)

    def relative_to(self, file: str, name: str) -> MapDocument | None:
        """Returns the map in the file `name`, a path relative to the folder of `file`; None if it is not loaded."""
        return self._files.get(os.path.abspath(os.path.join(os.path.dirname(file), name)))

    def siblings(self, file: str, start: str) -> list[MapDocument]:
        """Returns the maps in files of the folder of `file` whose names begin with `start`, sorted by name."""
        folder = os.path.dirname(os.path.abspath(file))
        return [
            self._files[path]
            for path in sorted(self._files)
            if os.path.dirname(path) == folder and os.path.basename(path).startswith(start)
        ]


def is_encrypted(data: dict[str, Any]) -> bool:
    """Returns whether SOPS encrypted a document. SOPS adds the key `sops`, and removes the key when it decrypts.

    Source: getsops/sops v3.11.0 stores/stores.go (Metadata)
    """
    return "sops" in data and dig(data, "sops", "mac") is not None


def is_chart(file: str, data: dict[str, Any]) -> bool:
    """Returns whether a map is a Chart.yaml, the description of a Helm chart."""
    return os.path.basename(file) == "Chart.yaml" and data.get("apiVersion") in ("v1", "v2") and "name" in data


def _dependencies(data: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for _, row in items(data.get("dependencies")):
        name = dig(row, "name")
        if isinstance(name, str):
            yield name, _text(dig(row, "version")), _text(dig(row, "alias")) or name, _text(dig(row, "condition"))


def _umbrella(chart: _Chart, loaded: _Input) -> Iterator[ChartInstall]:
    """Yields the installs of an umbrella chart's dependencies.

    The first installs have the values of values.yaml. Each further values file of the folder, such as
    values-prod.yaml, adds installs with its values over those of values.yaml.
    """
    defaults = loaded.relative_to(chart.file, "values.yaml")
    others = [file for file in loaded.siblings(chart.file, "values") if defaults is None or file[0] != defaults[0]]
    for layers in [[defaults]] + [[defaults, other] for other in others]:
        existing = [layer for layer in layers if layer is not None]
        sources = [ValuesSource(file, (index,), data) for file, index, data in existing]
        yield from _dependency_installs(chart, sources, is_complete=not others)


def _dependency_installs(chart: _Chart, sources: list[ValuesSource], *, is_complete: bool) -> Iterator[ChartInstall]:
    for name, version, key, condition in chart.dependencies:
        own_sources = tuple(replace(source, chart_path=(key,)) for source in sources)
        conditions = (tuple(path.strip().split(".")) for path in condition.split(",") if path.strip())
        ignored = frozenset(path[1:] for path in conditions if path[0] == key)
        yield ChartInstall(name, version, own_sources, is_complete, ignored)


def _application(manifest: Manifest, loaded: _Input) -> Iterator[ChartInstall]:
    for source in application_in(manifest).sources:
        if not isinstance(source.value, dict):
            continue
        sources, is_complete = _argo_sources(manifest, source.path, source.value, loaded)
        if source.chart or source.url.startswith("oci://"):
            name = _last_step(source.chart or source.url)
            yield ChartInstall(name, source.revision, tuple(sources), is_complete)
        elif local := _chart_at(_text(source.value.get("path")), loaded):
            yield from _dependency_installs(local, sources, is_complete=is_complete)


def _argo_sources(
    manifest: Manifest, path: Path, source: dict[str, Any], loaded: _Input
) -> tuple[list[ValuesSource], bool]:
    """Returns the values of one source of an Application, and whether the input has all of them.

    The order is that of Argo CD: values files, then valuesObject or values, then parameters.

    Source: https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence
    """
    helm, sources, is_complete = source.get("helm"), [], True
    for _, name in items(dig(helm, "valueFiles")):
        folder = _text(source.get("path"))
        reference, _, rest = _text(name).partition("/") if _text(name).startswith("$") else ("", "", "")
        file = loaded.at(rest if reference else os.path.join(folder, _text(name))) if reference or folder else None
        if file is None:
            is_complete = False
        else:
            sources.append(ValuesSource(file[0], (file[1],), file[2]))
    if isinstance(dig(helm, "valuesObject"), dict):
        sources.append(_source_in(manifest, (*path, "helm", "valuesObject"), dig(helm, "valuesObject")))
    elif _text(dig(helm, "values")):
        sources.append(_source_in(manifest, (*path, "helm", "values"), dig(helm, "values")))
    for number, parameter in items(dig(helm, "parameters")):
        name, value = _text(dig(parameter, "name")), dig(parameter, "value")
        if name and not any(sign in name for sign in "[\\{"):
            name_path = (*path, "helm", "parameters", number, "name")
            typed = value if dig(parameter, "forceString") else _typed(value)
            sources.append(_source_in(manifest, name_path, _nested(name.split("."), typed), is_parameter=True))
    return sources, is_complete and not dig(helm, "fileParameters")


def _release(manifest: Manifest, loaded: _Input) -> Iterator[ChartInstall]:
    """Yields the chart of a Flux HelmRelease. spec.values overrides spec.valuesFrom."""
    spec = manifest.body.get("spec")
    sources, is_complete = [], True
    for _, row in items(dig(spec, "valuesFrom")):
        key = "v1", dig(row, "kind"), dig(row, "name"), manifest.namespace
        maps = [other for other in loaded.manifests if (other.api, other.kind, other.name, other.namespace) == key]
        config_map = maps[0] if maps and key[1] == "ConfigMap" else None
        field = _text(dig(row, "valuesKey")) or "values.yaml"
        text = _text(dig(config_map.body, "data", field)) if config_map else ""
        if config_map is None or not text or dig(row, "targetPath"):
            is_complete = False
        else:
            sources.append(_source_in(config_map, ("data", field), text))
    if isinstance(dig(spec, "values"), dict):
        sources.append(_source_in(manifest, ("spec", "values"), dig(spec, "values")))
    chart, version = (_text(dig(spec, "chart", "spec", key)) for key in ("chart", "version"))
    if dig(spec, "chartRef", "kind") == "OCIRepository":
        wanted = "OCIRepository", _text(dig(spec, "chartRef", "name"))
        named = [row for row in loaded.manifests if (row.kind, row.name) == wanted]
        repository = dig(named[0].body, "spec") if named else None
        chart, version = _text(dig(repository, "url")), _text(dig(repository, "ref", "tag"))
    if local := _chart_at(chart, loaded) if "/" in chart else None:
        yield from _dependency_installs(local, sources, is_complete=is_complete)
    elif chart:
        yield ChartInstall(_last_step(chart), version, tuple(sources), is_complete)


def _k3s(manifest: Manifest, _: _Input) -> Iterator[ChartInstall]:
    """Yields the chart of a HelmChart object, which k3s and RKE2 install."""
    spec = manifest.body.get("spec")
    chart, text = _text(dig(spec, "chart")), _text(dig(spec, "valuesContent"))
    sources = (_source_in(manifest, ("spec", "valuesContent"), text),) if text else ()
    if chart:
        yield ChartInstall(_last_step(chart), _text(dig(spec, "version")), sources, not dig(spec, "set"))


def _kustomization(file: str, index: int, data: dict[str, Any], loaded: _Input) -> Iterator[ChartInstall]:
    for number, row in items(data.get("helmCharts")):
        named = [row.get("valuesFile")] if isinstance(row, dict) else []
        named += [name for _, name in items(dig(row, "additionalValuesFiles"))]
        files = [loaded.relative_to(file, name) for name in named if isinstance(name, str)]
        sources = [ValuesSource(values[0], (values[1],), values[2]) for values in files if values is not None]
        if isinstance(dig(row, "valuesInline"), dict):
            inline_path = ("helmCharts", number, "valuesInline")
            sources.append(ValuesSource(file, (index, *inline_path), dig(row, "valuesInline")))
        if chart := _text(dig(row, "name")):
            yield ChartInstall(chart, _text(dig(row, "version")), tuple(sources), None not in files)


_KINDS: dict[tuple[str, str], Callable[[Manifest, _Input], Iterator[ChartInstall]]] = {
    ("argoproj.io", "Application"): _application,
    ("argoproj.io", "ApplicationSet"): _application,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _release,
    ("helm.cattle.io", "HelmChart"): _k3s,
}
CHART_KINDS = tuple(_KINDS)
VERSION_PATHS: dict[str, Path] = {"HelmRelease": ("spec", "chart", "spec", "version"), "HelmChart": ("spec", "version")}
"""The API groups and kinds of objects that install charts."""


def _source_in(manifest: Manifest, path: Path, value: Any, *, is_parameter: bool = False) -> ValuesSource:
    return ValuesSource(manifest.file, (*manifest.origin, *path), value, is_parameter=is_parameter)


def _chart_at(path: str, loaded: _Input) -> _Chart | None:
    """Returns the umbrella chart in the only folder whose path ends with `path`."""
    return _at(path, loaded.charts) if path else None


def _at(path: str, by_path: Mapping[str, T]) -> T | None:
    ending = "/" + os.path.normpath(path).lstrip("./")
    matching = [value for known, value in by_path.items() if known.endswith(ending)]
    return matching[0] if len(matching) == 1 else None


def _last_step(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _nested(keys: list[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _typed(value: Any) -> Any:
    """Returns the value that `helm --set` reads from a string: an integer, a boolean, null or the string."""
    words = {"true": True, "false": False, "null": None}
    if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit():
        return int(value)
    return words.get(value, value) if isinstance(value, str) else value


def merged_values(base: Any, override: Any) -> Any:
    """Returns the values merged as in Helm: maps by key, other values are replaced, and a null removes its key."""
    if not isinstance(base, dict) or not isinstance(override, dict):
        return override
    merged = dict(base)
    for key, value in pairs(override):
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merged_values(merged.get(key), value)
    return merged
