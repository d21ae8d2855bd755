"""Schemas of Helm values, derived from the defaults in values.yaml and from CRDs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuc.catalog.schemas.crds import custom_resource
from gpuc.catalog.schemas.deduplicate import deduplicated
from gpuc.catalog.schemas.structural import Schema, strict
from gpuc.documents.reader import load_yaml

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TEXT_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNT: Schema = {"type": ["integer", "string"]}
_TEXT_MAPS = {
    "additionalAnnotations", "additionalLabels", "additionalPodAnnotations", "additionalPodLabels",
    "annotations", "commonAnnotations", "labels", "nodeSelector", "podAnnotations", "podLabels",
}  # fmt: skip
_COUNTS = {"maxUnavailable", "minAvailable"}


def chart_tables(charts: Path, crds: Path, names: Mapping[str, str]) -> dict[str, Schema]:
    """Returns the schemas of the Helm values of charts, by component.

    Args:
        charts: folder with <chart>/<version>/values.yaml, and subcharts in <chart>/<version>/charts/.
        crds: folder with the CRDs of jobset, for the types of pod fields, and of gpu-operator.
        names: chart names by component.

    Raises:
        LookupError: when a chart has no folder.
    """
    pod = _pod_fields(custom_resource(crds, "jobset", "JobSet"))
    policy = custom_resource(crds, "gpu-operator", "ClusterPolicy")["properties"]["spec"]
    schemas = {}
    for component, name in names.items():
        path = next(iter(sorted(charts.glob(f"{name}/*/values.yaml"))), None)
        if path is None:
            raise LookupError(f"no {charts}/{name}/<version>/values.yaml for component {component}")
        values = _read(path)
        for subchart in sorted(path.parent.glob("charts/*/values.yaml")):
            name_in_values = subchart.parent.name
            values[name_in_values] = _merged(_read(subchart), values.get(name_in_values, {}))
        schema = _ValuesSchema(component, pod, policy if component == "gpu-operator" else {}).schema(values, "")
        for path_in_values, override in _TABLE["schemas"].get(component, {}).items():
            _put(schema, path_in_values, override)
        for path_in_values in _TABLE["rejected"].get(component, ()):
            _drop(schema, path_in_values)
        schemas[component] = deduplicated(schema)
    return schemas


class _ValuesSchema:
    """Derives the schema of the Helm values of a chart from the defaults of the values."""

    def __init__(self, component: str, pod: dict[str, Schema], policy: Schema) -> None:
        self._component = component
        self._pod = pod
        self._policy = policy

    def schema(self, default: Any, path: str) -> Schema:
        known = self._known(default, path)
        if known is not None:
            return known
        if isinstance(default, dict) and default:
            children = {key: self.schema(value, f"{path}.{key}".lstrip(".")) for key, value in default.items()}
            return {"type": "object", "properties": children, "additionalProperties": False}
        if isinstance(default, list):
            kinds = [self.schema(value, path) for value in default if not isinstance(value, (dict, list))]
            is_uniform = kinds and len(kinds) == len(default) and all(kind == kinds[0] for kind in kinds)
            return {"type": "array", "items": kinds[0]} if is_uniform else {"type": "array"}
        return _scalar(default)

    def _known(self, default: Any, path: str) -> Schema | None:
        name = path.rpartition(".")[2]
        if path in (known := _TABLE["schemas"].get(self._component, {})):
            return dict(known[path])
        if name in _TEXT_MAPS and isinstance(default, dict):
            return _TEXT_MAP
        if name in self._pod and (not default or self._pod[name]["type"] == _scalar(default).get("type")):
            return self._pod[name]
        field = self._in_policy(path)
        if field and (default in ({}, []) or not isinstance(default, (dict, list))):
            return field
        return _COUNT if name in _COUNTS else None

    def _in_policy(self, path: str) -> Schema | None:
        """Returns the schema of the ClusterPolicy field into which the chart renders a value, or None."""
        schema = self._policy
        for step in path.split("."):
            if step not in schema.get("properties", {}):
                return None
            schema = schema["properties"][step]
        return {word: value for word, value in strict(schema).items() if word != "default"}


def _pod_fields(jobset: Schema) -> dict[str, Schema]:
    """Returns the schemas of pod and container fields that charts copy to pods, by their names in values.yaml."""
    job = jobset["properties"]["spec"]["properties"]["replicatedJobs"]["items"]["properties"]["template"]
    pod = job["properties"]["spec"]["properties"]["template"]["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    named = {name: pod[name] for name in ("affinity", "dnsConfig", "tolerations", "topologySpreadConstraints")}
    named |= {name: container[name] for name in ("env", "envFrom", "resources")}
    named["podSecurityContext"] = pod["securityContext"]
    named["securityContext"] = named["containerSecurityContext"] = container["securityContext"]
    return {name: strict(schema) for name, schema in named.items()}


def _scalar(default: Any) -> Schema:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": names[type(default)]} if type(default) in names else {}


def _merged(lower: Any, upper: Any) -> Any:
    if not (isinstance(lower, dict) and isinstance(upper, dict)):
        return upper
    return {**lower, **{key: _merged(lower.get(key), value) for key, value in upper.items()}}


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


def _read(path: Path) -> Any:
    return load_yaml(path.read_text(encoding="utf-8"))
