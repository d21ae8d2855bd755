"""The texts in messages about a spec: the expected value, the path of a value, and the wrong value."""

import re
from collections.abc import Iterable
from typing import Any, Literal, get_args, get_origin

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import dotted
from gpuc.diagnostics.words import shortened
from gpuc.spec.base import Shorthand
from gpuc.spec.field_type import constraints, field_type, fields, fits, is_model, members, plain
from gpuc.spec.form import Form, Words

_KEYS_MAX = 4
"""The largest number of keys that a message about a map lists."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_SCALARS = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}


def expected(kind: Any, value: Any = None) -> str:
    """Returns a description of the values that a type allows, as messages show it after "expected".

    Args:
        value: the wrong value, on which the example in the description can depend.
    """
    if words := _own_words(kind):
        return words
    return join([_member(member, value) for member in members(kind)], ", ", ", or ")


def join(words: list[str], separator: str, last: str) -> str:
    """Joins words, with a special separator before the last word, as in "a, b or c"."""
    return separator.join(words[:-1]) + last + words[-1] if len(words) > 1 else "".join(words)


def _member(kind: Any, value: Any) -> str:
    if words := _own_words(kind):
        return words
    inner = plain(kind)
    if get_origin(inner) is Literal:
        choices = (str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in get_args(inner))
        return join(list(choices), ", ", " or ")
    if get_origin(inner) is list:
        return _list(get_args(inner)[0])
    if get_origin(inner) is dict:
        return _map(get_args(inner)[1], value)
    if is_model(inner):
        return _shorthand(inner, value) if issubclass(inner, Shorthand) else _model(inner, value)
    return _SCALARS.get(inner, "another value") + _limits(constraints(kind))


def _own_words(kind: Any) -> str:
    """Returns the words of the form of a text or of another annotation; an empty string without them."""
    return next((entry.words for entry in constraints(kind) if isinstance(entry, Form | Words)), "")


def _limits(entries: Iterable[Any]) -> str:
    """Returns the limits of a number or of the length of a text, in words."""
    found: dict[str, Any] = {}
    for entry in entries:
        for name in ("ge", "gt", "le", "lt", "min_length", "max_length"):
            if getattr(entry, name, None) is not None:
                found[name] = getattr(entry, name)
    if "ge" in found and "le" in found:
        return f" from {found['ge']} to {found['le']}"
    if "min_length" in found and "max_length" in found:
        return f" of {found['min_length']} to {found['max_length']} characters"
    words = {"ge": " of at least {}", "gt": " greater than {}", "le": " of at most {}", "lt": " less than {}",
             "min_length": " of at least {} character", "max_length": " of at most {} characters"}  # fmt: skip
    return " and".join(words[name].format(limit) for name, limit in found.items())


def _list(entry: Any) -> str:
    if get_origin(plain(entry)) is Literal:
        return f"a list of {expected(entry)}"
    return f"a list such as [{example}]" if (example := _example(entry)) else "a list"


def _map(entry: Any, value: Any) -> str:
    """Returns the words about a map with free keys."""
    example = _example(entry)
    if not example:
        return "a map with names as keys" if is_model(plain(entry)) else "a map"
    first = value[0] if isinstance(value, list) and value else None
    name = first if isinstance(first, str) and _NAME.fullmatch(first) else "my-name"
    return f"a map with names as keys, such as {{{name}: {example}}}"


def _model(model: Any, value: Any) -> str:
    if example := _fitted(model, value) or _example(model):
        return f"a map such as {example}"
    known = fields(model)
    if len(known) == 1 and is_model(inner := plain(field_type(next(iter(known.values()))))):
        return f"a map with {next(iter(known))}: {_model(inner, None)}"
    listed = [*known] if len(known) <= _KEYS_MAX else [key for key, field in known.items() if field.is_required()]
    last = " or " if getattr(model, "is_choice", False) else ", "
    return f"a map with {join(listed, ', ', last)}" if listed else "a map"


def _fitted(model: Any, value: Any) -> str:
    """Returns the map with a number at the first key that accepts the number; an empty string without such a key."""
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    keys = (key for key, field in fields(model).items() if fits(field_type(field), value))
    return next((f"{{{key}: {value}}}" for key in keys), "")


def _shorthand(model: type[Shorthand], value: Any) -> str:
    """Returns the words about a word that can stand instead of a map, and about the map."""
    known = fields(model)
    word = field_type(known[model.short_for])
    key = next((key for key in known if isinstance(value, str) and key.casefold() == value.casefold()), "")
    if key and (example := _example(field_type(known[key]))):
        return f"{expected(word)}, or a map such as {{{key}: {example}}}"
    others = [key for key in known if key != model.short_for]
    return f"{expected(word)}, or a map with {join(others, ', ', ' or ')}" if others else expected(word)


def _example(kind: Any) -> str:
    return next((member.in_messages for member in map(plain, members(kind)) if getattr(member, "in_messages", "")), "")


def name_of(path: Path) -> str:
    """Returns a path in the notation of messages, for example pools.train-h100.instances[0]."""
    return dotted(path[1:] if path[:1] == ("spec",) and len(path) > 1 else path) or "the file"


def show(value: Any) -> str:
    """Returns a value as messages show it: strings in quotes and shortened; "a map" or "a list" for maps and lists."""
    if isinstance(value, str):
        line = value.replace("\n", "\\n")
        return "empty" if not line else f'"{shortened(line, 60)}"'
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nothing" if value is None else str(value)
