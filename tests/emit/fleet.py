"""The artifacts of the example clusters, cached for each process."""

from collections.abc import Iterable
from functools import cache

from gpuc.emit.emitters import emit
from gpuc.manifest.manifest import Artifact, Manifest, Text
from tests.conftest import example


@cache
def artifacts(name: str) -> tuple[Artifact, ...]:
    return tuple(emit(example(name)))


def readme(written: Iterable[Artifact]) -> str:
    """Returns the README of a cluster."""
    (text,) = (part.text for part in written if isinstance(part, Text) and part.file.endswith("README.md"))
    return text


def of_kind(artifacts: Iterable[Artifact], *kinds: str) -> list[Manifest]:
    """Returns the objects of the kinds."""
    return [part for part in artifacts if isinstance(part, Manifest) and part.kind in kinds]


def manifests(name: str, folder: str = "") -> list[Manifest]:
    """Returns the objects of a cluster, or of one folder below out/<cluster>/."""
    start = f"out/{name}/{folder}/" if folder else ""
    return [
        manifest for manifest in artifacts(name) if isinstance(manifest, Manifest) and manifest.file.startswith(start)
    ]
