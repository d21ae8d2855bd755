"""Texts of YAML files with places for values: ⟦name⟧, or ⟦name|default⟧."""

import re
from collections.abc import Mapping
from typing import Any

_PLACE = re.compile(r"⟦(\w+)(?:\|([^⟧]*))?⟧")


def filled(template: str, changes: Mapping[str, str]) -> str:
    """Fills the places of a text, then replaces parts of it. Raises: KeyError for a place without a value."""
    defaults = {match[1]: match[2] for match in _PLACE.finditer(template)}
    values = {
        place: changes[place] if default is None else changes.get(place, default) for place, default in defaults.items()
    }
    made = _PLACE.sub(lambda match: values[match[1]], template)
    for old, new in changes.items():
        if old not in defaults:
            assert old in made, f"{old} is not in the text"
            made = made.replace(old, new)
    return made


def texts(templates: Mapping[str, str], parts: Any) -> list[str]:
    """The texts of some parts: names, and names with the values of their places and with parts that are replaced."""
    named = [({part: {}} if isinstance(part, str) else part) for part in parts]
    return [filled(templates[name], changes) for part in named for name, changes in part.items()]
