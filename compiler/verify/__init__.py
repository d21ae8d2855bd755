"""Judges of objects: they share no code with the emitters, and read nothing but the objects themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compiler.finding import Finding
from compiler.manifest import Artifact, Manifest, Values

if TYPE_CHECKING:
    from compiler.verify.flaw import Flaw
    from compiler.verify.tree import Tree

JUDGES: tuple[str, ...] = (
    "inside",
    "closed",
    "references",
    "quotas",
    "scheduling",
    "constraints",
    "policies",
    "neighbours",
    "isolation",
    "isolation.resolver",
    "access",
    "monitoring",
)
"""Modules or packages of this one with `flaws(tree) -> Iterator[Flaw]`, in the order in which they are told."""


def verify(artifacts: Sequence[Artifact], kubernetes: str, releases: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with the emitted objects and values of one cluster."""
    from compiler.verify.schema import verify_schemas
    from compiler.verify.tree import emitted
    from compiler.verify.values import verify_values

    manifests = [artifact for artifact in artifacts if isinstance(artifact, Manifest)]
    values = [artifact for artifact in artifacts if isinstance(artifact, Values)]
    judged = [flaw.finding() for flaw in judge(emitted(artifacts))]
    return verify_schemas(manifests, kubernetes) + verify_values(values, releases) + judged


def judge(tree: Tree) -> Iterator[Flaw]:
    """What every judge finds in a tree of objects that their schemas take."""
    for name in JUDGES:
        yield from import_module(f"{__name__}.{name}").flaws(tree)
