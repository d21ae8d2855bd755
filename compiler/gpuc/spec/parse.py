"""Parses a Source into a model, and reports all wrong types, values and unknown keys together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gpuc.diagnostics.finding import Finding, Path, Severity, StageError, declare_rule
from gpuc.diagnostics.spelling import nearest
from gpuc.source import Source
from gpuc.spec.base import NO_UNIT
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.form import TEXT

UNKNOWN = declare_rule(
    "SPC001", Severity.ERROR, "A key is unknown.",
    "gpuc would ignore the key, although its author expects an effect.",
)  # fmt: skip
MISSING = declare_rule(
    "SPC002", Severity.ERROR, "A required key is missing.",
    "gpuc has no default for values that decide about hardware, cost or access. The spec has to contain them.",
)  # fmt: skip
TYPE = declare_rule(
    "SPC003",
    Severity.ERROR,
    "A value has the wrong type.",
    "The value that gpuc would read is not the value that the author intended.",
)
VALUE = declare_rule(
    "SPC004", Severity.ERROR, "A value is not allowed.",
    "The value is out of range, is not one of the choices, or does not match the pattern of the field.",
)  # fmt: skip
CHOICE = declare_rule(
    "SPC005", Severity.ERROR, "A map has several of its mutually exclusive keys, or none of them.",
    "gpuc cannot decide which key to use.",
)  # fmt: skip
VERSION = declare_rule(
    "SPC006", Severity.ERROR, "A text without quotes is a number.",
    "YAML reads 1.30 as the number 1.3. Versions, labels and tags are texts, and need quotes.",
)  # fmt: skip

_TYPES = {
    "string_type": "a string", "int_type": "a whole number", "bool_type": "true or false", "list_type": "a list",
    "dict_type": "a map", "model_type": "a map", "model_attributes_type": "a map", "float_type": "a number",
}  # fmt: skip

_LIMITS = {
    "greater_than": ("greater than", "gt"), "greater_than_equal": ("of at least", "ge"),
    "less_than": ("less than", "lt"), "less_than_equal": ("of at most", "le"),
}  # fmt: skip
"""The words of a message about a number beyond its limit, and Pydantic's key of the limit."""
_EXPECTED = "; expected "
_KEYS_MAX = 4
"""The largest number of keys that a message about a map lists."""
_Model = TypeVar("_Model", bound=BaseModel)


def parse(source: Source) -> ClusterSpec:
    """Parses a source into a typed spec.

    Raises:
        StageError: with one finding for each wrong value or key.
    """
    return parse_as(ClusterSpec, source)


def parse_as(model: type[_Model], source: Source) -> _Model:
    """Parses a source into a model of a YAML file.

    Raises:
        StageError: with one finding for each wrong value or key.
    """
    try:
        return model.model_validate(source.tree)
    except ValidationError as error:
        by_position: dict[tuple[Path, bool], list[Finding]] = {}
        for finding in _findings(error, source, model):
            by_position.setdefault((finding.path, finding.on_key), []).append(finding)
        raise StageError(_merged(findings) for findings in by_position.values()) from None


def _merged(findings: list[Finding]) -> Finding:
    """Returns one finding for all findings of a value, because Pydantic reports an error for each member of a union."""
    expected = list(dict.fromkeys(finding.message.partition(_EXPECTED)[2] for finding in findings))
    if len(expected) == 1 or not all(expected):
        return findings[0]
    return VALUE.at(findings[0].path, findings[0].message.partition(_EXPECTED)[0] + _EXPECTED + " or ".join(expected))


def _findings(error: ValidationError, source: Source, model: type[BaseModel]) -> Iterator[Finding]:
    """Yields a finding for each error of Pydantic."""
    for details in error.errors(include_url=False):
        path, on_key = _path(details["loc"], source.tree)
        kind = details["type"]
        context = details.get("ctx", {})
        if kind == "extra_forbidden":
            yield _unknown(path, model)
        elif kind == "missing":
            fix = "".join(f"add {path[-1]}: {value}" for value in _constant(path, model))
            yield MISSING.at(path[:-1], f"{path[-1]} is missing in {_name(path[:-1])}", fix=fix)
        elif kind == "string_type" and path in source.raw:
            raw = source.raw[path]
            message = f"{_name(path)} is the number {raw}; expected a string in quotes"
            yield VERSION.at(path, message, fix=f'set {_name(path)} to "{raw}"')
        elif kind == NO_UNIT:
            message = f"{_name(path)} is {_show(details['input'])}{_EXPECTED}{context['expected']}"
            yield TYPE.at(path, message, fix=_set(path, context["suggestion"]))
        elif kind == TEXT:
            yield _text(path, details, context, on_key)
        elif kind in _TYPES:
            expected = _TYPES[kind] + (_keys(path, model) if kind.startswith("model") else "")
            fix = ""
            if kind == "string_type" and isinstance(details["input"], bool):
                expected, fix = f"{expected} in quotes", _set(path, f'"{_show(details["input"])}"')
            yield TYPE.at(path, f"{_name(path)} is {_show(details['input'])}{_EXPECTED}{expected}", fix=fix)
        elif kind == "value_error" and not isinstance(details["input"], str):
            yield CHOICE.at(path, f"{_name(path)}: {context['error']}", on_key=True)
        else:
            yield _value(path, details, context, on_key, model)


def _text(path: Path, details: Any, context: dict[str, Any], on_key: bool) -> Finding:
    """Returns the finding about a text, or about the key of a map, that does not have the form of its field."""
    suggestion = context["suggestion"]
    if on_key:
        message = f"key {_show(path[-1])} of {_name(path[:-1])} is not allowed{_EXPECTED}{context['expected']}"
        return VALUE.at(path, message, fix=f"rename the key to {suggestion}" if suggestion else "", on_key=True)
    actual = context["actual"] or _show(details["input"])
    return VALUE.at(path, f"{_name(path)} is {actual}{_EXPECTED}{context['expected']}", fix=_set(path, suggestion))


def _value(path: Path, details: Any, context: dict[str, Any], on_key: bool, model: type[BaseModel]) -> Finding:
    actual = path[-1] if on_key else details["input"]
    match details["type"]:
        case "literal_error":
            allowed = str(context["expected"]).replace("'", "")
            suggestion = "".join(_constant(path, model)) or nearest(
                str(actual), allowed.replace(" or ", ", ").split(", ")
            )
            others = [key for key in _fields_at(path, model) if key not in allowed]
            if others and isinstance(actual, str):
                allowed += f", or a map with {', '.join(others)}"
            return VALUE.at(path, f"{_name(path)} is {_show(actual)}{_EXPECTED}{allowed}", fix=_set(path, suggestion))
        case "string_pattern_mismatch":
            return VALUE.at(path, f"{_name(path)}: {_show(actual)} does not match {context['pattern']}", on_key=on_key)
        case "value_error":
            return VALUE.at(path, f"{_name(path)}: {context['error']}", on_key=on_key)
        case kind if kind in _LIMITS:
            words, key = _LIMITS[kind]
            return VALUE.at(path, f"{_name(path)} is {_show(actual)}{_EXPECTED}a number {words} {context[key]}")
        case "too_short" | "string_too_short":
            return VALUE.at(path, f"{_name(path)} is empty; expected a length of at least {context['min_length']}")
        case "too_long" | "string_too_long":
            length = context.get("actual_length", len(details["input"]))
            return VALUE.at(path, f"{_name(path)} has length {length}; expected at most {context['max_length']}")
        case _:
            return VALUE.at(
                path,
                f"{_name(path)} is {_show(actual)}: {details['msg'][0].lower()}{details['msg'][1:]}",
                on_key=on_key,
            )


def _unknown(path: Path, model: type[BaseModel]) -> Finding:
    known = _fields_at(path[:-1], model)
    allowed = f"; expected one of {', '.join(known)}" if known else ""
    suggestion = nearest(str(path[-1]), known)
    fix = f"rename key {path[-1]} to {suggestion}" if suggestion else ""
    return UNKNOWN.at(path, f"{_name(path[:-1])} has no key {path[-1]}{allowed}", fix=fix, on_key=True)


def _keys(path: Path, model: type[BaseModel]) -> str:
    """Returns the keys of the map at a path in words; an empty string if there are many."""
    known = _fields_at(path, model)
    return f" with {', '.join(known)}" if 0 < len(known) <= _KEYS_MAX else ""


def _set(path: Path, value: str) -> str:
    """Returns the fix that sets the value at the path, or an empty string if there is no value."""
    return f"set {_name(path)} to {value}" if value else ""


def _path(location: tuple[int | str, ...], data: Any) -> tuple[Path, bool]:
    """Returns the spec path of Pydantic's location, and whether the key at the path is wrong instead of the value.

    A location of Pydantic also contains names of union members and markers for keys, which are no steps of the path.
    """
    path: list[str | int] = []
    node: Any = data
    on_key = "[key]" in location
    for index, step in enumerate(location):
        if _has_step(node, step):
            node = node[step]
            path.append(step)
        elif (
            index == len(location) - 1
            and isinstance(node, dict)
            and step != "[key]"
            and not _is_union_member(str(step))
        ):
            path.append(step)
    return tuple(path), on_key


def _has_step(node: Any, step: int | str) -> bool:
    if isinstance(node, list):
        return isinstance(step, int) and step < len(node)
    return isinstance(node, dict) and step in node


def _is_union_member(step: str) -> bool:
    return step[:1].isupper() or "[" in step or step in ("int", "str", "constrained-int", "constrained-str")


def _fields_at(path: Path, model: type[BaseModel]) -> list[str]:
    """Returns the keys that the model allows at a path; an empty list if every key is allowed."""
    annotation: Any = model
    for step in path:
        annotation = _type_at(annotation, step)
    return [field.alias or name for model in _models(annotation) for name, field in model.model_fields.items()]


def _constant(path: Path, model: type[BaseModel]) -> tuple[str, ...]:
    """Returns the only value that the model allows at a path; an empty tuple if other values are allowed."""
    annotation: Any = model
    for step in path:
        annotation = _type_at(annotation, step)
    values = get_args(annotation) if get_origin(annotation) is Literal else ()
    return values if len(values) == 1 else ()


def _type_at(annotation: Any, step: str | int) -> Any:
    """Returns the type of the value that a step from a model, a map or a list leads to; None if it is unknown."""
    for model in _models(annotation) if isinstance(step, str) else ():
        return next((field.annotation for field in model.model_fields.values() if field.alias == step), None)
    for member in map(_plain, (annotation, *get_args(annotation))):
        if get_origin(member) is (list if isinstance(step, int) else dict):
            return get_args(member)[-1]
    return None


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Returns the models in a type: the type if it is a model, and the models in a union."""
    members = (annotation, *(get_args(annotation) if get_origin(annotation) not in (dict, list) else ()))
    return [member for member in map(_plain, members) if isinstance(member, type) and issubclass(member, BaseModel)]


def _plain(annotation: Any) -> Any:
    """Returns a type without its constraints."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _name(path: Path) -> str:
    """Returns the path as messages show it, for example pools.train-h100.instances[0]."""
    text = ""
    for step in path[1:] if path[:1] == ("spec",) and len(path) > 1 else path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the file"


def _show(value: Any) -> str:
    """Returns the value as messages show it: strings in quotes and shortened, maps and lists only by kind."""
    if isinstance(value, str):
        line = value.replace("\n", "\\n")
        return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nothing" if value is None else str(value)
