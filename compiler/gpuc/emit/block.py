"""YAML inside of YAML: the text of a configuration file that a ConfigMap or a values file carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

# What every YAML reader takes as text without quotes; all else is written as JSON, which is YAML as well.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def block_yaml(data: Any) -> str:
    """The data in YAML block style, maps in their own order, with a line break at its end."""
    return "".join(f"{line}\n" for line in _lines(data))


def _lines(data: Any) -> Iterator[str]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _entry(f"{_scalar(key)}:", value, "  ")
    elif isinstance(data, list) and data:
        for item in data:
            yield from _item(item)
    else:
        yield _scalar(data)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from (f"{indent}{line}" for line in _lines(value))
    else:
        yield f"{head} {_scalar(value)}"


def _item(item: Any) -> Iterator[str]:
    first, *others = _lines(item)
    yield f"- {first}"
    yield from (f"  {line}" for line in others)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
