"""The artifacts of the example clusters, cached for each process."""

from __future__ import annotations

from functools import cache

from gpuc.emit import emit
from gpuc.manifest.manifest import Artifact, Manifest
from tests.conftest import example


@cache
def artifacts(name: str) -> tuple[Artifact, ...]:
    return tuple(emit(example(name)))


def manifests(name: str, folder: str = "") -> list[Manifest]:
    """Returns the objects of a cluster, or of one folder below out/<cluster>/."""
    start = f"out/{name}/{folder}/" if folder else ""
    return [
        manifest for manifest in artifacts(name) if isinstance(manifest, Manifest) and manifest.file.startswith(start)
    ]
