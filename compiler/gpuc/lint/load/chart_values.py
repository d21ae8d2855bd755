"""Checks Helm values against the keys and types of charts, in the versions that gpuc knows."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.catalog import load
from gpuc.catalog.schemas import chart, embedded
from gpuc.catalog.schemas.schema_errors import ErrorKind, SchemaError, schema_errors
from gpuc.catalog.schemas.structural import Schema
from gpuc.diagnostics.finding import Finding, Mark, Path
from gpuc.diagnostics.place import place
from gpuc.diagnostics.spelling import misspelt
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.emit.component import component_named
from gpuc.lint import rule_of
from gpuc.lint.checks.references.gpu_configs import NO_CONFIG
from gpuc.lint.load.chart_installs import ChartInstall, MapDocument, ValuesSource, is_encrypted, merged_values
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, without_nulls
from gpuc.verify.charts.helm_values import null_fields, unknown_key, wrong_type
from gpuc.verify.values import chart_validator, document_validator

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

NULL_FIELD = rule_of("VAL005")
_READ_BY_CHECKS = ("kube-prometheus-stack",)
"""Charts whose keys gpuc does not know, but some of whose values checks read."""
Locate = Callable[[Path, bool], Mark]
"""Returns the mark of the value at a path; with True as the second argument, the mark of the value's key."""


class ChartResult(Struct):
    """The findings about Helm values, and the values that could not be checked."""

    findings: list[Finding] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    """The values of every chart that has one set of values and the pinned version, by component of the release set."""
    unchecked: Counter[str] = field(default_factory=Counter)
    """Sentences about values that could not be checked, with the number of charts."""
    documents: set[tuple[str, int | str]] = field(default_factory=set)
    """File and index of the documents that are values of an installed chart."""


def check_chart_installs(
    installs: Iterable[ChartInstall], manifests: Sequence[Manifest], source_map: SourceMap
) -> ChartResult:
    """Checks the values of every installed chart whose version gpuc knows.

    Args:
        manifests: all loaded objects, because values may come from a ConfigMap.
    """
    result = ChartResult()
    variants: dict[str, list[dict[str, Any]]] = {}
    for install in installs:
        result.documents |= {(source.file, source.path[0]) for source in install.sources}
        pinned = _pinned().get(install.chart)
        if pinned is None:
            if install.sources:
                result.unchecked[f"values of the chart {install.chart}, whose keys gpuc does not know"] += 1
            if install.is_complete and install.chart in _READ_BY_CHECKS:
                layers_of_values = (_data(source, source_map, []) for source in install.sources)
                variants.setdefault(install.chart, []).append(reduce(merged_values, layers_of_values, {}))
            continue
        component, version = pinned
        if install.version.strip().removeprefix("=").strip().removeprefix("v") != version.removeprefix("v"):
            actual = f"in version {install.version}" if install.version else "without a fixed version"
            result.unchecked[f"values of the chart {install.chart} {actual}; gpuc knows the keys of {version}"] += 1
            continue
        values: dict[str, Any] = {}
        layers: list[tuple[Any, Locate]] = []
        for source in install.sources:
            data, locate = _data(source, source_map, result.findings), _locator(source, source_map)
            result.findings += _value_findings(data, component, locate, install.ignored)
            layers.append((data, locate))
            values = merged_values(values, data)
            result.findings += _config_map_findings(component, data, manifests, locate)
        result.findings += _null_findings(component, values, layers)
        if install.is_complete and values not in variants.setdefault(component, []):
            variants[component].append(values)
    result.values = {component: values[0] for component, values in variants.items() if len(values) == 1}
    return result


def _null_findings(component: str, values: Any, layers: Sequence[tuple[Any, Locate]]) -> Iterator[Finding]:
    """Yields findings about empty values that the chart renders as nulls.

    Args:
        values: the merged values.
        layers: the values of every source, in their order. The finding is in the last source that has the value.
    """
    for path, message in null_fields(component, values):
        for data, locate in reversed(layers):
            if path[-1] in (dig(data, *path[:-1]) or ()):
                mark = locate(path, False)
                yield NULL_FIELD.at((), f"{component}: {place(path)}: {message}", mark=mark)
                break


def _config_map_findings(
    component: str, data: dict[str, Any], manifests: Sequence[Manifest], locate: Locate
) -> Iterator[Finding]:
    """Yields findings about values that name a missing ConfigMap, or a key that the ConfigMap does not have."""
    facts = component_named(component)
    maps = {manifest.name: manifest for manifest in manifests if (manifest.api, manifest.kind) == ("v1", "ConfigMap")}
    for value in facts.config_maps if facts else ():
        config = dig(data, *value.path)
        name, default = dig(config, "name"), dig(config, "default")
        if not isinstance(name, str) or not name or dig(config, "create") is True:
            continue
        path: Path = (*value.path, "name")
        keys = list(dig(maps[name].body, "data") or ()) if name in maps else []
        if name not in maps and (suggestion := misspelt(name, maps)):
            message = f'{component}: {place(path)}: the ConfigMap "{name}" does not exist, did you mean "{suggestion}"'
            yield NO_CONFIG.at((), message, fix=f"write {suggestion}", mark=locate(path, False))
        elif value.has_default_key and keys and isinstance(default, str) and default and default not in keys:
            path = (*value.path, "default")
            message = f'{component}: {place(path)}: the ConfigMap {name} has no key "{default}", only '
            yield NO_CONFIG.at((), message + ", ".join(keys), mark=locate(path, False))


def check_values_files(files: Sequence[MapDocument], component: str, source_map: SourceMap) -> Iterator[Finding]:
    """Checks values files of one chart: unknown keys, wrong types and empty values."""
    for file, index, data in files:
        locate = _locator(ValuesSource(file, (index,), data), source_map)
        yield from _value_findings(data, component, locate, frozenset())
        yield from _null_findings(component, data, [(data, locate)])


def check_document(source: ValuesSource, source_map: SourceMap) -> Iterator[Finding]:
    """Yields findings about a controller's configuration, in a file or a ConfigMap, if gpuc has a schema for it."""
    syntax: list[Finding] = []
    data = _data(source, source_map, syntax)
    for row in load().documents:
        if (data.get("apiVersion"), data.get("kind")) == (row.api, row.kind):
            yield from syntax
            locate = _locator(source, source_map)
            yield from _schema_findings(data, embedded(row), row.title, document_validator(row), locate)


def _value_findings(
    data: dict[str, Any], component: str, locate: Locate, ignored: frozenset[Path]
) -> Iterator[Finding]:
    schema = chart(component)
    assert schema is not None, "pinned charts have tables"
    validator = chart_validator(component)
    yield from _schema_findings(data, schema, component, validator, locate, {*ignored, ("global",)})
    for row in load().documents:
        text = dig(data, *row.path)
        for _, document in read(text, "").documents if row.component == component and isinstance(text, str) else ():
            if isinstance(document, dict) and document.get("apiVersion") == row.api:
                inner = partial(_below, locate, row.path)
                yield from _schema_findings(document, embedded(row), row.title, document_validator(row), inner)


def _below(locate: Locate, start: Path, path: Path, on_key: bool) -> Mark:
    return locate((*start, *path), on_key)


def _schema_findings(
    data: dict[str, Any],
    schema: Schema,
    name: str,
    validator: "Draft202012Validator",
    locate: Locate,
    ignored: Iterable[Path] = (),
) -> Iterator[Finding]:
    ignored = [*ignored, ("sops",)] if is_encrypted(data) else ignored
    for error in schema_errors(validator, without_nulls(data), schema):
        is_unknown = error.kind is ErrorKind.UNKNOWN
        if error.path in ignored if is_unknown else _is_harmless(error, data):
            continue
        rule = unknown_key.rule if is_unknown else wrong_type.rule
        message = f"{name}: {place(error.path) or 'the file'}: {error.message}"
        yield rule.at((), message, fix=error.fix, mark=locate(error.path, is_unknown))


def _is_harmless(error: SchemaError, data: dict[str, Any]) -> bool:
    """Returns whether the chart renders a valid object in spite of an error.

    Templates render quoted digits as a number and omit empty maps, and other tools replace placeholders.
    """
    if error.kind is ErrorKind.MISSING:
        return bool(dig(data, *error.path[:-1]) == {})
    value = dig(data, *error.path)
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and "'integer'" in error.message
    return is_number or is_filled_later(value, message=error.message)


_PLACEHOLDER = re.compile(
    r"\$\w+|\$\([\w.-]+\)|<+[^<>]+>+|__\w+__|_|[A-Z]{2,}( [A-Z]{2,}){2,}|FILLED_BY_\w+|PLACEHOLDER\w*"
    r"|(?i:(?:replace|enter|insert|change|put|add)[ _-]?(?:this|me|with|your).*|your[ _-].*)"
)
_IN_NAME = re.compile(
    r"<[\w -]+>|__[A-Z_]+__|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|^[A-Z][A-Z0-9.-]+$|\$\([\w.-]+\)"
    r"|\b(?:CLUSTER|DOMAIN|ENV|NAME|NAMESPACE|PROJECT|REGION|TEAM|TENANT|USER|VERSION|ZONE)\b"
)
"""A part of the name or namespace of an object that a program replaces, or a name in capitals."""
_OF_NUMBER = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{3,}")
_WANTS_NUMBER = re.compile(r"is not of type '(?:integer|number|boolean)'|is not a quantity")
_ENCRYPTED = re.compile(r"ENC\[\w+,data:")
"""The start of a value that SOPS encrypted. Source: getsops/sops v3.11.0 aes/cipher.go"""


def is_filled_later(value: Any, *, is_name: bool = False, message: str = "") -> bool:
    """Returns whether another program replaces or decrypts a value before the object reaches the cluster.

    Examples of replaced values are ${NAME}, $NAME, <NAME>, __NAME__, "FILLED BY THE OPERATOR", and the name _ in
    patches of Kustomize. ApplicationSets, Flux and envsubst replace values. SOPS decrypts values.

    Args:
        is_name: whether the value is a name or namespace of an object; then a part of the value can be replaced.
        message: the message of the check that refuses the value. A value such as NUM_NODES counts as replaced if this
            message says that a number is required.
    """
    if not isinstance(value, str):
        return False
    is_part = is_name and _IN_NAME.search(value)
    is_number = _OF_NUMBER.fullmatch(value) and _WANTS_NUMBER.search(message)
    is_whole = is_part or is_number or _PLACEHOLDER.fullmatch(value) or _ENCRYPTED.match(value)
    return "{{" in value or "${" in value or bool(is_whole)


def _data(source: ValuesSource, source_map: SourceMap, findings: list[Finding]) -> dict[str, Any]:
    """Returns the values of a source; an empty map if the source has no map.

    Args:
        findings: the list to which the findings about a string that is not YAML are added.
    """
    value = source.value
    if isinstance(value, str):
        parsed = read(value, source.file)
        outer = source_map.mark(source.file, source.path)
        for finding in parsed.findings:
            mark = source_map.mark_in_file(outer, value, finding.mark) if finding.mark else outer
            findings.append(replace(finding, mark=mark))
        value = parsed.documents[0][1] if parsed.documents else {}
    value = dig(value, *source.chart_path) if source.chart_path else value
    return value if isinstance(value, dict) else {}


def _locator(source: ValuesSource, source_map: SourceMap) -> Locate:
    if source.is_parameter:
        return lambda path, on_key: source_map.mark(source.file, source.path)
    return source_map.locator(source.file, (*source.path, *source.chart_path))


@cache
def _pinned() -> dict[str, tuple[str, str]]:
    """Returns the component and the version of the charts whose keys gpuc knows, by the name of the chart."""
    rows = [row for row in load().all_releases if chart(row.component) is not None]
    return {row.chart: (row.component, row.version) for row in rows}
