"""Source to ClusterSpec: shape, types, ranges and unknown keys, every fault at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gpuc.diagnostics.finding import Finding, Path, Severity, StageError, declare_rule
from gpuc.diagnostics.spelling import nearest, write
from gpuc.source import Source
from gpuc.spec.base import NO_UNIT
from gpuc.spec.cluster import ClusterSpec

UNKNOWN = declare_rule(
    "SPC001", Severity.ERROR, "A key is not part of the spec language.",
    "A key that nobody reads is a setting that its author believes to be on.",
)  # fmt: skip
MISSING = declare_rule(
    "SPC002", Severity.ERROR, "A required key is missing.",
    "gpuc guesses nothing: what decides about hardware, money or access is written down.",
)  # fmt: skip
TYPE = declare_rule(
    "SPC003",
    Severity.ERROR,
    "A value has the wrong type.",
    "It would be read as something else than was meant.",
)
VALUE = declare_rule(
    "SPC004", Severity.ERROR, "A value is not one of those allowed.",
    "It is outside of a range, not in a list of choices, or not of the form that the field has.",
)  # fmt: skip
CHOICE = declare_rule(
    "SPC005", Severity.ERROR, "Keys stand together that exclude one another, or a choice is open.",
    "Only one of them would be read.",
)  # fmt: skip
VERSION = declare_rule(
    "SPC006", Severity.ERROR, "A version is written as a number.",
    "YAML reads 1.30 as the number 1.3; a version is text and stands in quotes.",
)  # fmt: skip

_TYPES = {
    "string_type": "text", "int_type": "a whole number", "bool_type": "true or false", "list_type": "a list",
    "dict_type": "a map", "model_type": "a map", "model_attributes_type": "a map", "float_type": "a number",
}  # fmt: skip

_TAKES = "; it takes "


def parse(source: Source) -> ClusterSpec:
    """The typed spec of a source.

    Raises:
        StageError: with a finding per fault of shape, each at its path.
    """
    try:
        return ClusterSpec.model_validate(source.tree)
    except ValidationError as error:
        found: dict[tuple[Path, bool], list[Finding]] = {}
        for finding in _findings(error, source):
            found.setdefault((finding.path, finding.on_key), []).append(finding)
        raise StageError(_one(findings) for findings in found.values()) from None


def _one(findings: list[Finding]) -> Finding:
    """One finding for all that was said about a value: each member of a union says what it would take."""
    takes = list(dict.fromkeys(finding.message.partition(_TAKES)[2] for finding in findings))
    if len(takes) == 1 or not all(takes):
        return findings[0]
    return VALUE.at(findings[0].path, findings[0].message.partition(_TAKES)[0] + _TAKES + " or ".join(takes))


def _findings(error: ValidationError, source: Source) -> Iterator[Finding]:
    for one in error.errors(include_url=False):
        path, on_key = _path(one["loc"], source.tree)
        kind = one["type"]
        context = one.get("ctx", {})
        if kind == "extra_forbidden":
            yield _unknown(path, source)
        elif kind == "missing":
            yield MISSING.at(path[:-1], f"{path[-1]} is missing in {_name(path[:-1])}")
        elif kind == "string_type" and path in source.raw:
            raw = source.raw[path]
            yield VERSION.at(path, f"{_name(path)} is the number {raw}, not text", fix=f'write "{raw}"')
        elif kind == NO_UNIT:
            message = f"{_name(path)} is {_show(one['input'])}{_TAKES}{context['takes']}"
            yield TYPE.at(path, message, fix=context["fix"])
        elif kind in _TYPES:
            yield TYPE.at(path, f"{_name(path)} is {_show(one['input'])}{_TAKES}{_TYPES[kind]}")
        elif kind == "value_error" and not isinstance(one["input"], str):
            yield CHOICE.at(path, f"{_name(path)}: {context['error']}", on_key=True)
        else:
            yield _value(path, one, context, on_key)


def _value(path: Path, one: Any, context: dict[str, Any], on_key: bool) -> Finding:
    seen = path[-1] if on_key else one["input"]
    limits = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
    match one["type"]:
        case "literal_error":
            allowed = str(context["expected"]).replace("'", "")
            near = nearest(str(seen), allowed.replace(" or ", ", ").split(", "))
            others = [key for key in _fields_at(path) if key not in allowed]
            if others and isinstance(seen, str):
                allowed += f", or a map with {', '.join(others)}"
            return VALUE.at(path, f"{_name(path)} is {_show(seen)}{_TAKES}{allowed}", fix=write(near))
        case "string_pattern_mismatch":
            return VALUE.at(path, f"{_name(path)}: {_show(seen)} does not match {context['pattern']}", on_key=on_key)
        case "value_error":
            return VALUE.at(path, f"{_name(path)}: {context['error']}", on_key=on_key)
        case kind if kind in limits:
            words = kind.replace("_", " ")
            return VALUE.at(path, f"{_name(path)} is {_show(seen)}; it has to be {words} {context[limits[kind]]}")
        case "too_short" | "string_too_short":
            return VALUE.at(path, f"{_name(path)} is empty; it takes at least {context['min_length']}")
        case _:
            return VALUE.at(
                path,
                f"{_name(path)} is {_show(seen)}: {one['msg'][0].lower()}{one['msg'][1:]}",
                on_key=on_key,
            )


def _unknown(path: Path, source: Source) -> Finding:
    known = _fields_at(path[:-1])
    allowed = f"; it takes {', '.join(known)}" if known else ""
    fix = write(nearest(str(path[-1]), known))
    return UNKNOWN.at(path, f"{path[-1]} is no key of {_name(path[:-1])}{allowed}", fix=fix, on_key=True)


def _path(location: tuple[int | str, ...], tree: Any) -> tuple[Path, bool]:
    """The part of pydantic's location that the tree has, and whether the key itself is at fault.

    Locations also name union members and markers of keys, which nobody wrote.
    """
    path: list[str | int] = []
    node: Any = tree
    on_key = "[key]" in location
    for index, step in enumerate(location):
        if _holds(node, step):
            node = node[step]
            path.append(step)
        elif index == len(location) - 1 and isinstance(node, dict) and step != "[key]" and not _is_tag(str(step)):
            path.append(step)
    return tuple(path), on_key


def _holds(node: Any, step: int | str) -> bool:
    if isinstance(node, list):
        return isinstance(step, int) and step < len(node)
    return isinstance(node, dict) and step in node


def _is_tag(step: str) -> bool:
    return step[:1].isupper() or "[" in step or step in ("int", "str", "constrained-int", "constrained-str")


def _fields_at(path: Path) -> list[str]:
    """The keys that the language has at a path; none where any key may stand."""
    annotation: Any = ClusterSpec
    for step in path:
        annotation = _inside(annotation, step)
    return [field.alias or name for model in _models(annotation) for name, field in model.model_fields.items()]


def _inside(annotation: Any, step: str | int) -> Any:
    """The type of what stands at a step into a model, a map or a list."""
    for model in _models(annotation):
        return next((field.annotation for field in model.model_fields.values() if field.alias == step), None)
    for member in (annotation, *get_args(annotation)):
        if get_origin(member) in (dict, list):
            return get_args(member)[-1]
    return None


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models among a type and the members of a union."""
    members = (annotation, *(get_args(annotation) if get_origin(annotation) not in (dict, list) else ()))
    return [member for member in members if isinstance(member, type) and issubclass(member, BaseModel)]


def _name(path: Path) -> str:
    """A path as people say it: spec.pools.train-h100.instances[0]."""
    text = ""
    for step in path[1:] if path[:1] == ("spec",) and len(path) > 1 else path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the file"


def _show(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 60 else f'"{value[:57]}..."'
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    return {True: "true", False: "false", None: "nothing"}.get(value, str(value))
