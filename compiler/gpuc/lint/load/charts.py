"""Helm values that somebody keeps, against the pinned charts' own keys and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuc.catalog.schemas import chart, kueue_configuration
from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Finding, Mark, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt
from gpuc.lint.load.installs import Document, Install, Part, merged
from gpuc.lint.load.places import Places
from gpuc.lint.load.text import read
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import place
from gpuc.objects.object_set import dig
from gpuc.verify.charts.unknown_key import unknown_key
from gpuc.verify.charts.wrong_type import wrong_type
from gpuc.verify.null_fields import null_fields
from gpuc.verify.schema_errors import ErrorKind, SchemaError, schema_errors, validator

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

NO_CONFIG = declare_rule(
    "VAL003",
    Severity.ERROR,
    "Helm values of the GPU operator name a ConfigMap, or a key of it, that the tree has under another name.",
    "The operand's pods wait for the ConfigMap, or exit: no node of the cluster gets its GPUs.",
    "k8s-device-plugin v0.20.0 cmd/config-manager/main.go",
)
NULL_FIELD = declare_rule(
    "VAL005",
    Severity.WARNING,
    "A chart renders an empty Helm value as a null in an object of a custom kind.",
    "Who applies the object on the server's side, as Flux, Helm 4 and Argo CD with ServerSideApply do, is refused.",
    "compiler/gpuc/catalog/nulls.json",
)
Locate = Callable[[Path, bool], Mark]
"""Where a value of a map stands, or its key."""
CONFIGURATION = ("config.kueue.x-k8s.io/v1beta2", "Configuration")
"""What Kueue's controller reads: a text in its chart's values, a text in a ConfigMap, or a file."""
_TEXT_OF_KUEUE = ("managerConfig", "controllerManagerConfigYaml")


@dataclass
class Judged:
    """What is known of a tree's charts."""

    findings: list[Finding] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    """Values by the chart's key in the release set, of charts in the pinned version that the tree installs once."""
    others: Counter[str] = field(default_factory=Counter)
    """What could not be judged, by sentence: how often."""
    files: set[tuple[str, int]] = field(default_factory=set)
    """Documents that are values of a chart that somebody installs: file and index."""


def judge_installs(found: Iterable[Install], manifests: Sequence[Manifest], places: Places) -> Judged:
    """The values of every install whose chart gpuc knows in that version.

    Args:
        manifests: the objects of the tree, which values may name.
    """
    judged = Judged()
    versions: dict[str, list[dict[str, Any]]] = {}
    for install in found:
        judged.files |= {(part.file, part.index) for part in install.parts}
        known = _pinned().get(install.chart)
        if known is None:
            if install.parts:
                judged.others[f"values of the chart {install.chart}, of which gpuc knows none"] += 1
            continue
        component, version = known
        if install.version.strip().removeprefix("=").strip().removeprefix("v") != version.removeprefix("v"):
            told = f"in version {install.version}" if install.version else "in no fixed version"
            judged.others[f"values of the chart {install.chart} {told}: gpuc knows those of {version}"] += 1
            continue
        values: dict[str, Any] = {}
        read_parts: list[tuple[Any, Locate]] = []
        for part in install.parts:
            data, locate = _data(part, places, judged.findings), _locator(part, places)
            judged.findings += _of(data, component, locate, install.ignored, places)
            read_parts.append((data, locate))
            values = merged(values, data)
            if component == "gpu-operator":
                judged.findings += _config_maps(data, manifests, locate)
        judged.findings += _nulls(component, values, read_parts)
        if install.is_complete and values not in versions.setdefault(component, []):
            versions[component].append(values)
    judged.values = {component: each[0] for component, each in versions.items() if len(each) == 1}
    return judged


def _nulls(component: str, values: Any, parts: Sequence[tuple[Any, Locate]]) -> Iterator[Finding]:
    """Empty values that the chart renders as nulls, each at the last part that has it."""
    for path, message in null_fields(component, values):
        for data, locate in reversed(parts):
            if path[-1] in (dig(data, *path[:-1]) or ()):
                mark = locate(path, False)
                yield NULL_FIELD.at((), f"{component}: {place(path)}: {message}", mark=mark)
                break


def _config_maps(data: dict[str, Any], manifests: Sequence[Manifest], locate: Locate) -> Iterator[Finding]:
    """ConfigMaps and keys of them that the GPU operator's values name and that are called nearly so."""
    maps = {each.name: each for each in manifests if (each.api, each.kind) == ("v1", "ConfigMap")}
    for operand in ("devicePlugin", "migManager", "dcgmExporter"):
        config = dig(data, operand, "config")
        name, default = dig(config, "name"), dig(config, "default")
        if not isinstance(name, str) or not name or dig(config, "create") is True:
            continue
        path: Path = (operand, "config", "name")
        keys = list(dig(maps[name].body, "data") or ()) if name in maps else []
        if name not in maps and (near := misspelt(name, maps)):
            message = f'gpu-operator: {place(path)}: the ConfigMap "{name}" does not exist, did you mean "{near}"'
            yield NO_CONFIG.at((), message, fix=f"write {near}", mark=locate(path, False))
        elif operand == "devicePlugin" and keys and isinstance(default, str) and default and default not in keys:
            path = (operand, "config", "default")
            message = f'gpu-operator: {place(path)}: ConfigMap {name} has no key "{default}": {", ".join(keys)}'
            yield NO_CONFIG.at((), message, mark=locate(path, False))


def judge_values(values: Sequence[Document], component: str | None, places: Places) -> Iterator[Finding]:
    """Findings about the maps that are no objects, taken for values of a chart; nothing where none is named."""
    if component is None or chart(component) is None:
        return
    for file, index, data in values:
        locate = _locator(Part(file, index, (), data), places)
        yield from _of(data, component, locate, frozenset(), places)
        yield from _nulls(component, data, [(data, locate)])


def judge_configuration(part: Part, places: Places) -> list[Finding]:
    """Findings about a Configuration of Kueue in a file or in a text of a ConfigMap; none about other documents."""
    found: list[Finding] = []
    data = _data(part, places, found)
    if (data.get("apiVersion"), data.get("kind")) != CONFIGURATION:
        return []
    return [*found, *_findings(data, kueue_configuration(), "kueue configuration", _locator(part, places))]


def _of(
    data: dict[str, Any], component: str, locate: Locate, ignored: frozenset[Path], places: Places
) -> Iterator[Finding]:
    schema = chart(component)
    assert schema is not None, "pinned charts have tables"
    yield from _findings(data, schema, component, locate, {*ignored, ("global",)})
    text = dig(data, *_TEXT_OF_KUEUE)
    if component == "kueue" and isinstance(text, str):
        inner = places.inside(locate(_TEXT_OF_KUEUE, False), text)
        for _, document in read(text, "").documents:
            if isinstance(document, dict) and document.get("apiVersion") == CONFIGURATION[0]:
                yield from _findings(document, kueue_configuration(), "kueue configuration", inner)


def _findings(
    data: dict[str, Any], schema: Schema, name: str, locate: Locate, ignored: Iterable[Path] = ()
) -> Iterator[Finding]:
    for item in schema_errors(_compiled(name), _without_nulls(data), schema):
        is_unknown = item.kind is ErrorKind.UNKNOWN
        if item.path in ignored if is_unknown else _is_rendered_alike(item, data):
            continue
        kind = unknown_key.rule if is_unknown else wrong_type.rule
        message = f"{name}: {place(item.path) or 'the file'}: {item.message}"
        yield kind.at((), message, fix=item.fix, mark=locate(item.path, is_unknown))


def _is_rendered_alike(item: SchemaError, data: dict[str, Any]) -> bool:
    """Whether it makes no difference: digits in quotes are a number once rendered, and charts leave out empty maps."""
    if item.kind is ErrorKind.MISSING:
        return bool(dig(data, *item.path[:-1]) == {})
    value = dig(data, *item.path)
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and "'integer'" in item.message
    return is_number or is_filled_later(value)


def is_filled_later(value: Any) -> bool:
    """Whether a text has a place that a tool fills before anything is applied: of ApplicationSets, Flux, envsubst."""
    return isinstance(value, str) and ("{{" in value or "${" in value)


def _data(part: Part, places: Places, findings: list[Finding]) -> dict[str, Any]:
    """The map of a part, that of a text read; empty where there is none, which is a finding if it is no YAML."""
    value = part.value
    if isinstance(value, str):
        found = read(value, part.file)
        outer = places.mark(part.file, part.index, part.path)
        findings += [replace(each, mark=places.shifted(outer, value, each.mark)) for each in found.findings]
        value = found.documents[0][1] if found.documents else {}
    value = dig(value, *part.below) if part.below else value
    return value if isinstance(value, dict) else {}


def _locator(part: Part, places: Places) -> Locate:
    if part.is_set:
        return lambda path, on_key: places.mark(part.file, part.index, part.path)
    if isinstance(part.value, str):
        inner = places.inside(places.mark(part.file, part.index, part.path), part.value)
        return lambda path, on_key: inner((*part.below, *path), on_key)
    start = (*part.path, *part.below)
    return lambda path, on_key: places.mark(part.file, part.index, (*start, *path), on_key=on_key)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


@cache
def _pinned() -> dict[str, tuple[str, str]]:
    """Component and version of each chart whose values gpuc knows, by the chart's name."""
    from gpuc.catalog import load

    rows = [row for rows in load().releases.values() for row in rows.values() if chart(row.component) is not None]
    return {row.chart: (row.component, row.version) for row in rows}


@cache
def _compiled(name: str) -> Draft202012Validator:
    schema = chart(name) or kueue_configuration()
    return validator(schema)
