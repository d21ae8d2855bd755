"""Schemas of Helm values, derived from the defaults in values.yaml and from the tables of kinds."""

import tomllib
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas import custom
from gpuc.catalog.schemas.deduplicate import deduplicated
from gpuc.catalog.schemas.structural import Schema, with_parts
from gpuc.parts.folders import component_folder
from tests.derive.template_keys import table, values_of

_TEXT_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNT: Schema = {"type": ["integer", "string"]}
_TEXT_MAPS = {
    "additionalAnnotations", "additionalLabels", "additionalPodAnnotations", "additionalPodLabels",
    "annotations", "commonAnnotations", "labels", "nodeSelector", "podAnnotations", "podLabels",
}  # fmt: skip
_COUNTS = {"maxUnavailable", "minAvailable"}


def chart_table(component: str, chart: str, charts: Path) -> Schema:
    """Returns the schema of the Helm values of a chart. Types of pod fields come from the table of JobSet.

    Args:
        charts: folder with <chart>/<version>/values.yaml, and subcharts in <chart>/<version>/charts/.

    Raises:
        LookupError: when the chart has no folder, or a kind into which the chart renders its values has no table.
    """
    path = next(iter(sorted(charts.glob(f"{chart}/*/values.yaml"))), None)
    if path is None:
        raise LookupError(f"no {charts}/{chart}/<version>/values.yaml for component {component}")
    values, keys = values_of(path.parent), table().get(component, {})
    exceptions = component_folder(component) / "values.toml"
    known = tomllib.loads(exceptions.read_text("utf-8")) if exceptions.is_file() else {}
    rendered = _spec(*known["rendered_into"]) if "rendered_into" in known else {}
    overrides = known.get("schemas", {})
    pod = _pod_fields(_spec("jobset.x-k8s.io/v1alpha2", "JobSet"))
    derived = _ValuesSchema(overrides, pod, rendered, frozenset(keys.get("whole", ())))
    schema = derived.schema(values, "")
    for path_in_values in keys.get("read", ()):
        derived.add(schema, path_in_values)
    for path_in_values, override in overrides.items():
        _put(schema, path_in_values, override)
    for path_in_values in known.get("rejected", ()):
        _drop(schema, path_in_values)
    return deduplicated(schema)


def _spec(api: str, kind: str) -> Schema:
    """Returns the schema of `spec` of a custom kind, without references."""
    found = custom(api, kind)
    if found is None:
        raise LookupError(f"the kind {api} {kind} has no table: derive it first, with --crds and --kind")
    return _inlined(found.schema["properties"]["spec"], found.schema.get("$defs", {}))


def _inlined(schema: Schema, definitions: Schema) -> Schema:
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return with_parts(schema, lambda part, _: _inlined(part, definitions))


class _ValuesSchema:
    """Derives the schema of the Helm values of a chart from the defaults of the values."""

    def __init__(self, overrides: Schema, pod: dict[str, Schema], rendered: Schema, whole: frozenset[str]) -> None:
        self._overrides = overrides
        self._pod = pod
        self._rendered = rendered
        self._whole = whole

    def schema(self, default: Any, path: str) -> Schema:
        known = self._known(default, path)
        if known is not None:
            return known
        if isinstance(default, dict) and default:
            children = {key: self.schema(value, f"{path}.{key}".lstrip(".")) for key, value in default.items()}
            return self._written(path, children) or {
                "type": "object", "properties": children, "additionalProperties": False,
            }  # fmt: skip
        if isinstance(default, list):
            kinds = [self.schema(value, path) for value in default if not isinstance(value, (dict, list))]
            is_uniform = kinds and len(kinds) == len(default) and all(kind == kinds[0] for kind in kinds)
            return {"type": "array", "items": kinds[0]} if is_uniform else {"type": "array"}
        return _scalar(default)

    def add(self, schema: Schema, path: str) -> None:
        """Adds a key that only templates read, with its type if the key is a known field."""
        *parents, name = path.split(".")
        for step in parents:
            if "properties" not in schema:
                return
            empty = {"type": "object", "properties": {}, "additionalProperties": False}
            schema = schema["properties"].setdefault(step, empty)
        if "properties" in schema:
            schema["properties"].setdefault(name, self._known(None, path) or {})

    def _written(self, path: str, children: Schema) -> Schema | None:
        """Returns the schema of a map that the templates write with any keys; None for another map."""
        if path not in self._whole:
            return None
        field = self._rendered_field(path) or {}
        is_known = children.keys() <= field.get("properties", {}).keys()
        field.pop("required", None)  # the defaults have them
        return field if is_known else {"type": "object", "properties": children}

    def _known(self, default: Any, path: str) -> Schema | None:
        name = path.rpartition(".")[2]
        if path in self._overrides:
            return dict(self._overrides[path])
        if name in _TEXT_MAPS and isinstance(default, dict):
            return _TEXT_MAP
        if name in self._pod and (not default or self._pod[name]["type"] == _scalar(default).get("type")):
            return self._pod[name]
        field = self._rendered_field(path)
        if field and (default in ({}, []) or not isinstance(default, (dict, list))):
            return field
        return _COUNT if name in _COUNTS else None

    def _rendered_field(self, path: str) -> Schema | None:
        """Returns the schema of the field into which the chart renders a value, or None."""
        schema = self._rendered
        for step in path.split("."):
            if step not in schema.get("properties", {}):
                return None
            schema = schema["properties"][step]
        return {word: value for word, value in schema.items() if word != "default"}


def _pod_fields(jobset: Schema) -> dict[str, Schema]:
    """Returns the schemas of pod and container fields that charts copy to pods, by their names in values.yaml."""
    job = jobset["properties"]["replicatedJobs"]["items"]["properties"]["template"]
    pod = job["properties"]["spec"]["properties"]["template"]["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    named = {name: pod[name] for name in ("affinity", "dnsConfig", "tolerations", "topologySpreadConstraints")}
    named |= {name: container[name] for name in ("env", "envFrom", "resources")}
    named["podSecurityContext"] = pod["securityContext"]
    named["securityContext"] = named["containerSecurityContext"] = container["securityContext"]
    return named


def _scalar(default: Any) -> Schema:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": names[type(default)]} if type(default) in names else {}


def _put(schema: Schema, path: str, override: Schema) -> None:
    *parents, name = path.split(".")
    for step in parents:
        schema = schema["properties"][step]
    schema["properties"][name] = override


def _drop(schema: Schema, path: str) -> None:
    *parents, name = path.split(".")
    for step in parents:
        schema = schema["properties"].get(step, {"properties": {}})
    schema["properties"].pop(name, None)
