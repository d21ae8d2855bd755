"""Converts the errors of pydantic about a spec into findings: one finding for each mistake."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuc.diagnostics.finding import Finding, Path
from gpuc.source import Source
from gpuc.spec.base import NO_UNIT
from gpuc.spec.corrected import corrected, yaml_text
from gpuc.spec.field_type import fields, fits, key_type, members, plain, type_at
from gpuc.spec.form import TEXT
from gpuc.spec.key_mistakes import unknown_and_missing, wrong_key
from gpuc.spec.location import TOO_LONG, Mistake, mistakes_by_place
from gpuc.spec.rules import CHOICE, NUMBER, TYPE, VALUE
from gpuc.spec.words import expected, name_of, show

_TYPES = (
    "string_type", "int_type", "bool_type", "list_type", "dict_type", "model_type", "model_attributes_type",
    "float_type", "int_from_float",
)  # fmt: skip
"""Pydantic's errors about a value of the wrong type."""
_TOO_SHORT = ("too_short", "string_too_short")


def findings(error: ValidationError, source: Source, model: type[BaseModel]) -> Iterator[Finding]:
    """Yields the findings about a spec that does not match its model."""
    by_place = mistakes_by_place(error, source.tree)
    yield from unknown_and_missing([mistake for found in by_place.values() for mistake in found], source, model)
    for (path, on_key), found in by_place.items():
        values = [mistake for mistake in found if mistake.kind not in ("missing", "extra_forbidden")]
        if values:
            yield wrong_key(path, values[0], source, model) if on_key else _value(path, values, source, model)


def _value(path: Path, mistakes: list[Mistake], source: Source, model: type[BaseModel]) -> Finding:
    """Returns the finding about a value: a union has a mistake for each of its members."""
    mistake, name, kind = mistakes[0], name_of(path), type_at(path, model)
    rule = TYPE if all(mistake.kind in (*_TYPES, NO_UNIT) for mistake in mistakes) else VALUE
    value = mistake.value
    if mistake.kind in (TEXT, NO_UNIT):
        actual = mistake.context.get("actual") or show(value)
        wanted, suggestion = mistake.context["expected"], mistake.context["suggestion"]
        suggestion = yaml_text(suggestion) if suggestion and str in map(plain, members(kind)) else suggestion
        return rule.at(path, f"{name} is {actual}; expected {wanted}", fix=_set(path, suggestion))
    if mistake.kind == "value_error":
        is_scalar = isinstance(value, str)
        return (rule if is_scalar else CHOICE).at(path, f"{name}: {mistake.context['error']}", on_key=not is_scalar)
    if mistake.kind in TOO_LONG:
        length = mistake.context.get("actual_length", len(value))
        return rule.at(path, f"{name} has length {length}; expected at most {mistake.context['max_length']}")
    if mistake.kind in _TOO_SHORT and not isinstance(value, str):
        return rule.at(path, f"{name} is empty; expected at least 1 entry")
    raw = source.raw.get(path, "")
    if raw and ("string_type" in [mistake.kind for mistake in mistakes] or fits(kind, raw)):
        fix = _set(path, corrected(kind, raw) or f'"{raw}"')
        return NUMBER.at(path, f"{name} is the number {raw}; expected {_quoted(kind)}", fix=fix)
    if isinstance(value, bool) and mistake.kind == "string_type":
        return rule.at(path, f"{name} is {show(value)}; expected {_quoted(kind)}", fix=_set(path, f'"{show(value)}"'))
    message = f"{name} is {show(value)}; expected {expected(kind, value)}"
    return rule.at(path, message, fix=_set(path, corrected(kind, value)) or _as_keys(path, value, kind))


def _quoted(kind: Any) -> str:
    words = expected(kind)
    return words if "quotes" in words else "a string in quotes"


def _as_keys(path: Path, value: Any, kind: Any) -> str:
    """Returns the fix for a list of maps with names, where a map by name is expected."""
    if not isinstance(value, list) or fields(kind):
        return ""
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in value]
    if not names or not all(fits(key_type(kind), name) for name in names):
        return ""
    return f"write {names[0]}: instead of - name: {names[0]}, and change all entries of {name_of(path)} in this way"


def _set(path: Path, value: str) -> str:
    """Returns the fix that sets the value at the path, or an empty string if there is no value."""
    return f"set {name_of(path)} to {value}" if value else ""
