"""Checks of what a compile emits, before it is written: values, metadata, names, and the isolation of tenants.

They read nothing but the objects, and share no code with the emitters. Whatever else can be wrong among objects is a
matter of `gpuc lint`; the tests run all of its checks over the output of the examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpuc.diagnostics.finding import Finding
from gpuc.manifest.manifest import Artifact, Manifest, Values

if TYPE_CHECKING:
    from gpuc.objects.flaw import Flaw
    from gpuc.objects.object_set import ObjectSet


def verify(artifacts: Sequence[Artifact], kubernetes: str, releases: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with the emitted objects and values of one cluster."""
    from gpuc.objects.object_set import emitted
    from gpuc.verify.schema import verify_schemas
    from gpuc.verify.values import verify_values

    manifests = [artifact for artifact in artifacts if isinstance(artifact, Manifest)]
    values = [artifact for artifact in artifacts if isinstance(artifact, Values)]
    among = [flaw.finding() for flaw in flaws(emitted(artifacts))]
    return verify_schemas(manifests, kubernetes) + verify_values(values, releases) + among


def flaws(tree: ObjectSet) -> Iterator[Flaw]:
    """Names that lead nowhere, and tenants that are not isolated."""
    from gpuc import isolation
    from gpuc.objects.index import Index
    from gpuc.verify.references import keys, names

    index = Index(tree)
    yield from names.flaws(index)
    yield from keys.flaws(index)
    yield from isolation.flaws(tree)
