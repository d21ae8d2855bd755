"""YAML documents inside of text values, for example in a ConfigMap."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpuc.objects.object_set import ObjectSet

_KEPT = 64


def document(objects: ObjectSet, text: Any) -> Any:
    """Returns the YAML document in a text; None if the value is not a text or not YAML."""
    if not isinstance(text, str):
        return None
    return objects.documents[text] if text in objects.documents else _read(text)


@lru_cache(maxsize=_KEPT)
def _read(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
