"""Texts in objects and values that are YAML documents themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpuc.objects.object_set import ObjectSet

_KEPT = 64


def document(tree: ObjectSet, text: Any) -> Any:
    """What a text says as YAML; None for anything that is none."""
    if not isinstance(text, str):
        return None
    return tree.documents[text] if text in tree.documents else _read(text)


@lru_cache(maxsize=_KEPT)
def _read(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
