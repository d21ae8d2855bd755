"""What the example clusters emit, once per process."""

from __future__ import annotations

from functools import cache

from gpuc.emit import emit
from gpuc.manifest.manifest import Artifact, Manifest
from tests.conftest import example


@cache
def artifacts(name: str) -> tuple[Artifact, ...]:
    return tuple(emit(example(name)))


def manifests(name: str, folder: str = "") -> list[Manifest]:
    """The objects of a cluster, or of one folder of its tree."""
    start = f"out/{name}/{folder}/" if folder else ""
    return [one for one in artifacts(name) if isinstance(one, Manifest) and one.file.startswith(start)]
