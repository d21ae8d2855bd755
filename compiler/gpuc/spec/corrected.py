"""Finds the value that an author certainly meant when the spec has a wrong value. Findings show it as the fix."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin

from gpuc.diagnostics.spelling import misspelt
from gpuc.source.scalar import resolve
from gpuc.spec.base import Shorthand
from gpuc.spec.field_type import constraints, field_type, fields, fits, is_model, members, plain
from gpuc.spec.form import Form, Synonyms

_LENGTH_MAX = 80
"""The largest length of a value in a fix."""
_PREFIX_MIN = 3
"""Length of the shortest word that is a choice without its end, or with a longer end."""


def corrected(kind: Any, value: Any) -> str:
    """Returns the only value of a type that a wrong value can mean, as YAML; empty if there are none or several."""
    found = {in_flow_style(candidate, yaml_text) for candidate in _candidates(kind, value) if fits(kind, candidate)}
    text = found.pop() if len(found) == 1 else ""
    return text if len(text) <= _LENGTH_MAX else ""


def _candidates(kind: Any, value: Any) -> Iterator[Any]:
    """Yields values that the author of a wrong value may have meant, right or wrong."""
    for member in members(kind):
        inner = plain(member)
        if get_origin(inner) is Literal:
            yield from _choices(member, value, is_only=member is kind)
        elif get_origin(inner) is list and not isinstance(value, list):
            yield from ([entry] for entry in _parts(get_args(inner)[0], value))
        elif is_model(inner) and issubclass(inner, Shorthand):
            yield from _candidates(field_type(fields(inner)[inner.short_for]), value)
        elif is_model(inner) and not isinstance(value, dict):
            required = [(key, field) for key, field in fields(inner).items() if field.is_required()]
            if len(required) == 1:
                key, field = required[0]
                yield from ({key: part} for part in _parts(field_type(field), value))
        elif inner is str:
            yield from _texts(member, value)
        elif inner in (int, bool):
            yield from _scalars(inner, value)


def _parts(kind: Any, value: Any) -> Iterator[Any]:
    """Yields a value that is right in another place, or else what it may mean there."""
    if fits(kind, value):
        yield value
    else:
        yield from _candidates(kind, value)


def _choices(kind: Any, value: Any, is_only: bool) -> Iterator[str]:
    """Yields the choice that a text means. `is_only` is whether no other type and no absence of a value is possible."""
    if not isinstance(value, str):
        return
    choices = get_args(plain(kind))
    synonyms = dict(pair for entry in constraints(kind) if isinstance(entry, Synonyms) for pair in entry.choices)
    texts = [choice for choice in choices if isinstance(choice, str)]
    folded = value.casefold()
    same = [choice for choice in texts if choice.casefold() == folded]
    begun = [
        choice for choice in texts
        if min(len(choice), len(value)) >= _PREFIX_MIN
        and (choice.casefold().startswith(folded) or folded.startswith(choice.casefold()))
    ]  # fmt: skip
    if is_only and len(texts) == len(choices) == 1:
        yield texts[0]
    elif choice := synonyms.get(folded) or next(iter(same), "") or misspelt(value, texts):
        yield choice
    elif len(begun) == 1:
        yield begun[0]


def _texts(kind: Any, value: Any) -> Iterator[str]:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        yield value[0]
    elif isinstance(value, str):
        yield from (entry.normalize(value) for entry in constraints(kind) if isinstance(entry, Form))


def _scalars(kind: type, value: Any) -> Iterator[Any]:
    if kind is int:
        digits = re.fullmatch(r"(-?[0-9]{1,18})(\.0)?", str(value))
        yield from [int(digits[1])] if digits else []
    elif str(value).casefold() in ("true", "1"):
        yield True
    elif str(value).casefold() in ("false", "0"):
        yield False


def in_flow_style(value: Any, of_text: Callable[[str], str]) -> str:
    """Returns a value as YAML in flow style, such as {max: 8}. `of_text` adds quotes to a string that needs them."""
    if isinstance(value, dict):
        entries = (f"{of_text(str(key))}: {in_flow_style(entry, of_text)}" for key, entry in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[{', '.join(in_flow_style(entry, of_text) for entry in value)}]"
    return of_text(value) if isinstance(value, str) else json.dumps(value)


def yaml_text(text: str) -> str:
    """Returns a string as YAML in flow style. Adds quotes if YAML would read another value without quotes."""
    is_plain = re.fullmatch(r"[\w/.*@+:-]*[\w/.*@+-]", text) and text[0] not in "*@-:" and resolve(text) == (text, None)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
