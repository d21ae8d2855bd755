"""The plan as JSON. The command `gpuc schema plan` prints the JSON Schema of this document."""

from typing import Any

from gpuc.diagnostics.finding import Mark, Path
from gpuc.diagnostics.place import place
from gpuc.diagnostics.report.document import json_text, picked, position
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Pair
from gpuc.plan.differences import MISSING
from gpuc.plan.impact import Impact, Level
from gpuc.plan.object_changes import ChangedField, changed_fields
from gpuc.plan.planner import ClusterPlan, Plans
from gpuc.plan.report.words import change_word

VERSION = 1
"""The version of the form. It grows when a key changes its meaning or disappears."""
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 1}
_STATE = {"enum": ["before", "after"], "description": "The state in which the line is."}
_PLACE = {"file": _TEXT, "line": _NUMBER, "column": _NUMBER, "state": _STATE, "path": _TEXT}


def render(plans: Plans) -> str:
    """Returns the plans as one JSON document."""
    impacts = [{"cluster": name, **_impact(impact)} for name, impact in plans.impacts()]
    data = {"before": plans.before, "impacts": impacts, "clusters": [_cluster(plan) for plan in plans.clusters]}
    return json_text(data, VERSION, indent=1, ascii_only=False)


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the report."""
    prediction = _map({"subject": _TEXT, "outcome": _TEXT})
    impact = _map(
        {
            "cluster": _TEXT,
            "id": {"type": "string", "pattern": "^IMP[0-9]{3}$"},
            "level": {"enum": [level.value for level in Level]},
            "subject": _TEXT,
            "message": _TEXT,
            "details": _list(_TEXT),
            "accepted": {"type": "string", "description": "The reason for which the spec accepts the impact."},
            "predicts": _list(prediction),
        },
        _PLACE,
    )
    field = _map({"field": _TEXT}, {"before": {}, "after": {}, **_PLACE})
    changed = _map(
        {"change": {"enum": ["added", "changed", "removed"]}, "kind": _TEXT, "name": _TEXT, "fields": _list(field)},
        {"apiVersion": _TEXT, "namespace": _TEXT, "output": _TEXT},
    )
    finding = _map({"id": _TEXT, "severity": _TEXT, "message": _TEXT, "fix": _TEXT}, _PLACE)
    cluster = _map(
        {
            "cluster": _TEXT,
            "summary": _list(_TEXT),
            "findings": _list(finding),
            "notes": _list(_TEXT),
            "objects": _list(changed),
        }
    )
    properties = {"version": {"const": VERSION}, "gpuc": _TEXT, "before": _TEXT}
    properties |= {"impacts": _list(impact), "clusters": _list(cluster)}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The JSON report of gpuc plan"}
    return head | _map(properties)


def _map(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    properties = required | (optional or {})
    return {"type": "object", "properties": properties, "required": sorted(required), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _impact(impact: Impact) -> dict[str, Any]:
    return {
        **picked(impact, "id level subject message details accepted"),
        **_position(impact.mark, impact.is_before, impact.path),
        "predicts": [prediction._asdict() for prediction in impact.predicts],
    }


def _cluster(plan: ClusterPlan) -> dict[str, Any]:
    by_pair = grouped(changed_fields(plan.change, plan.objects), lambda changed: id(changed.pair))
    findings = [
        {**picked(finding, "id severity message fix"), **_position(finding.mark, False, finding.path)}
        for finding in plan.findings
    ]
    objects = [_object(pair, by_pair[id(pair)]) for pair in plan.objects]
    return {"cluster": plan.name, **picked(plan, "summary notes"), "findings": findings, "objects": objects}


def _object(pair: Pair, fields: list[ChangedField]) -> dict[str, Any]:
    manifest = pair.manifest
    optional = {"apiVersion": manifest.api, "namespace": manifest.namespace, "output": manifest.file}
    return {
        "change": change_word(pair),
        **picked(manifest, "kind name"),
        **{key: value for key, value in optional.items() if value},
        "fields": [_field(changed) for changed in fields],
    }


def _field(changed: ChangedField) -> dict[str, Any]:
    values = picked(changed.field, "before after")
    return {
        "field": changed.place,
        **{key: value for key, value in values.items() if value is not MISSING},
        **_position(changed.mark, changed.is_before, changed.cause),
    }


def _position(mark: Mark | None, is_before: bool, path: Path) -> dict[str, Any]:
    of_path = {"path": place(path)} if path else {}
    return {**position(mark), "state": "before" if is_before else "after", **of_path} if mark else of_path
