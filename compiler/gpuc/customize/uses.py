"""Finds objects that contain a name from a Helm value of gpuc. These objects probably break without the value."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.objects.paths import texts

_NAME = re.compile(r"[a-z][a-z0-9./-]{4,}[a-z0-9]")
"""Texts that can be names of objects or of their keys. Words such as "true" and quantities are no names."""
_MAX_LISTED = 4


def uses(path: Path, old: Any, artifacts: Sequence[Artifact], ignored: str) -> str:
    """Returns the end of a message that names objects which contain a name from a Helm value of gpuc.

    The names are the strings in the value, and the keys of the ConfigMaps that a chart renders from `data`. The text is
    empty if no object contains a name. Objects can rely on the value nevertheless.

    Args:
        path: the path of the value in the Helm values.
        old: the value of gpuc.
        ignored: a name that many objects contain: the name of the cluster.
    """
    names = {name for name in _names(old, path) if _NAME.fullmatch(name)} - {ignored}
    users: dict[str, set[str]] = {}
    for artifact in artifacts if names else ():
        if isinstance(artifact, Manifest):
            found = names.intersection(text for _, text in texts([artifact.labels, artifact.body]))
            users |= {str(artifact): found} if found else {}
    if not users:
        return ""
    shared = ", ".join(sorted(set().union(*users.values())))
    more = f" and {len(users) - _MAX_LISTED} more objects" if len(users) > _MAX_LISTED else ""
    return f"these objects contain {shared}: {', '.join(list(users)[:_MAX_LISTED])}{more}"


def _names(value: Any, path: Path) -> Iterator[str]:
    """Yields the texts in a value, and the keys below `data`. Lists contain no names that other objects refer to."""
    if "data" in path[:-1]:
        yield str(path[-1])
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _names(child, (*path, key))
