"""Prints YAML for configuration files that are inside of a ConfigMap or of Helm values."""

import json
import re
from collections.abc import Iterator
from typing import Any

# Strings that need no quotes in YAML. All other strings are written as JSON, which is valid YAML.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
# YAML does not allow these characters in a file, also not in quotes. JSON does.
_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def block_yaml(data: Any) -> str:
    """Returns the data as YAML in block style. Maps keep their order; the text ends with a line break."""
    return "".join(f"{line}\n" for line in _lines(data))


def _lines(data: Any) -> Iterator[str]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _map_entry(f"{_scalar(key)}:", value, "  ")
    elif isinstance(data, list) and data:
        for item in data:
            yield from _list_item(item)
    else:
        yield _scalar(data)


def _map_entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from (f"{indent}{line}" for line in _lines(value))
    else:
        yield f"{head} {_scalar(value)}"


def _list_item(item: Any) -> Iterator[str]:
    first, *others = _lines(item)
    yield f"- {first}"
    yield from (f"  {line}" for line in others)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
