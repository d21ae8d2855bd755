"""Findings about the mistakes that Pydantic found in a spec: one finding for each mistake, in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gpuc.diagnostics.finding import Finding, Path
from gpuc.diagnostics.spelling import misspelt, nearest
from gpuc.source import Source
from gpuc.spec.base import NO_UNIT
from gpuc.spec.corrected import corrected, yaml_text
from gpuc.spec.expected import expected
from gpuc.spec.field_type import fields, fits, key_type, plain, type_at
from gpuc.spec.form import TEXT
from gpuc.spec.location import Mistake, mistakes_by_place
from gpuc.spec.rules import CHOICE, MISSING, NUMBER, TYPE, UNKNOWN, VALUE

_TYPES = (
    "string_type", "int_type", "bool_type", "list_type", "dict_type", "model_type", "model_attributes_type",
    "float_type", "int_from_float",
)  # fmt: skip
"""Pydantic's errors about a value of the wrong type."""
_TOO_SHORT, _TOO_LONG = ("too_short", "string_too_short"), ("too_long", "string_too_long")


def findings(error: ValidationError, source: Source, model: type[BaseModel]) -> Iterator[Finding]:
    """Yields the findings about the errors of Pydantic in a source that is no valid model."""
    by_place = mistakes_by_place(error, source.tree)
    yield from _key_findings([mistake for place in by_place for mistake in by_place[place]], source, model)
    for (path, on_key), found in by_place.items():
        values = [mistake for mistake in found if mistake.kind not in ("missing", "extra_forbidden")]
        if values:
            yield _key_form(path, values[0], source, model) if on_key else _value(path, values, source, model)


def _key_findings(mistakes: list[Mistake], source: Source, model: type[BaseModel]) -> Iterator[Finding]:
    """Yields the findings about unknown and missing keys: one for a missing key that has a similar unknown key."""
    missing = [mistake.path for mistake in mistakes if mistake.kind == "missing"]
    for path in (mistake.path for mistake in mistakes if mistake.kind == "extra_forbidden"):
        parent, key = path[:-1], str(path[-1])
        wanted = [str(other[-1]) for other in missing if other[:-1] == parent]
        unused = [name for name in fields(type_at(parent, model)) if (*parent, name) not in source.keys]
        certain = nearest(key, wanted) or misspelt(key, unused)
        if certain in wanted:
            missing.remove((*parent, certain))
        yield _unknown(path, certain, unused, [*fields(type_at(parent, model))])
    for path in missing:
        kind = type_at(path, model)
        choices = get_args(plain(kind)) if get_origin(plain(kind)) is Literal else ()
        message = f"{path[-1]} is missing in {name_of(path[:-1])}; expected {expected(kind)}"
        fix = f"add {path[-1]}: {choices[0]}" if len(choices) == 1 else ""
        yield MISSING.at(path[:-1], message, fix=fix, on_key=True)


def _unknown(path: Path, certain: str, unused: list[str], known: list[str]) -> Finding:
    """Returns the finding about an unknown key. `certain` is the key that its author certainly meant, or empty."""
    message = f"{name_of(path[:-1])} has no key {path[-1]}"
    if certain:
        fix = f"rename key {path[-1]} to {certain}"
        return UNKNOWN.at(path, f"{message}; expected {certain}", fix=fix, on_key=True)
    similar = nearest(str(path[-1]), unused)
    question = f" (did you mean {similar}?)" if similar else ""
    return UNKNOWN.at(path, f"{message}{question}; expected one of {', '.join(known)}", on_key=True)


def _key_form(path: Path, mistake: Mistake, source: Source, model: type[BaseModel]) -> Finding:
    """Returns the finding about a key of a map with free keys."""
    if mistake.kind == "value_error":
        return VALUE.at(path, f"{name_of(path)}: {mistake.context['error']}", on_key=True)
    kind, parent = key_type(type_at(path[:-1], model)), name_of(path[:-1])
    if mistake.kind in _TOO_LONG:
        length, limit = len(str(path[-1])), mistake.context["max_length"]
        return VALUE.at(
            path, f"key {show(path[-1])} of {parent} has length {length}; expected at most {limit}", on_key=True
        )
    wanted = mistake.context["expected"] if mistake.kind == TEXT else expected(kind)
    suggestion = mistake.context["suggestion"] if mistake.kind == TEXT else corrected(kind, path[-1])
    message = f"key {show(path[-1])} of {parent} is not allowed; expected {wanted}"
    if (*path[:-1], suggestion) in source.keys:
        return VALUE.at(path, f"{message}; {parent} already has the key {suggestion}", on_key=True)
    return VALUE.at(path, message, fix=f"rename the key to {suggestion}" if suggestion else "", on_key=True)


def _value(path: Path, mistakes: list[Mistake], source: Source, model: type[BaseModel]) -> Finding:
    """Returns the finding about a value: a union has a mistake for each of its members."""
    mistake, name, kind = mistakes[0], name_of(path), type_at(path, model)
    rule = TYPE if all(mistake.kind in (*_TYPES, NO_UNIT) for mistake in mistakes) else VALUE
    value = mistake.value
    if mistake.kind in (TEXT, NO_UNIT):
        actual = mistake.context.get("actual") or show(value)
        wanted, suggestion = mistake.context["expected"], mistake.context["suggestion"]
        suggestion = yaml_text(suggestion) if suggestion and plain(kind) is str else suggestion
        return rule.at(path, f"{name} is {actual}; expected {wanted}", fix=_set(path, suggestion))
    if mistake.kind == "value_error":
        is_scalar = isinstance(value, str)
        return (rule if is_scalar else CHOICE).at(path, f"{name}: {mistake.context['error']}", on_key=not is_scalar)
    if mistake.kind in _TOO_LONG:
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
    is_list = isinstance(value, list) and all(isinstance(entry, dict) and "name" in entry for entry in value)
    if not is_list or not value or fields(kind):
        return ""
    first = value[0]["name"]
    return f"write {first}: in place of - name: {first}, and so on for all entries of {name_of(path)}"


def _set(path: Path, value: str) -> str:
    """Returns the fix that sets the value at the path, or an empty string if there is no value."""
    return f"set {name_of(path)} to {value}" if value else ""


def name_of(path: Path) -> str:
    """Returns the path as messages show it, for example pools.train-h100.instances[0]."""
    text = ""
    for step in path[1:] if path[:1] == ("spec",) and len(path) > 1 else path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the file"


def show(value: Any) -> str:
    """Returns the value as messages show it: strings in quotes and shortened, maps and lists only by kind."""
    if isinstance(value, str):
        line = value.replace("\n", "\\n")
        return "empty" if not line else f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nothing" if value is None else str(value)
