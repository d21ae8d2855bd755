"""Reads YAML documents that are strings in objects, for example in the data of a ConfigMap."""

from functools import lru_cache
from typing import Any

from gpuc.documents.reader import read
from gpuc.objects.object_set import ObjectSet

_CACHED_DOCUMENTS = 64


def document(objects: ObjectSet, text: Any) -> Any:
    """Parses the YAML document in a string. Returns None if the value is not a string or not YAML."""
    if not isinstance(text, str):
        return None
    return objects.documents[text] if text in objects.documents else _read(text)


@lru_cache(maxsize=_CACHED_DOCUMENTS)
def _read(text: str) -> Any:
    found = read(text, "").documents
    return found[0][1] if len(found) == 1 else None
