"""The tested sample of mutations, and the table of mutations that no check detects."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from gpuc.lint import checks
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import emitted
from gpuc.pipeline.stages import CompiledSpec
from tests.conftest import EXAMPLES, compiled_example
from tests.lint.mutations.mutations import Mutation, mutations, spread
from tests.verify.findings import schema_findings

FILE = Path(__file__).parent / "undetected.yaml"
SAMPLE = 4
"""The number of mutations for every kind of object and category, over all example clusters."""


@dataclass(frozen=True)
class Undetected:
    """One mutation that no check detects."""

    mutation: str
    """Its id."""
    reason: str
    covered_by: str = ""
    """The test or committed output that shows such a mistake of an emitter, from the root; empty where none has to."""


@cache
def undetected() -> dict[str, Undetected]:
    """The table, by the id of the mutation.

    Raises:
        ValueError: when a mutation has two rows.
    """
    groups = yaml.load(FILE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    rows = [
        Undetected(mutation, group["reason"], group.get("covered_by", ""))
        for group in groups
        for mutation in group["mutations"]
    ]
    table = {row.mutation: row for row in rows}
    if len(table) < len(rows):
        raise ValueError(f"{FILE.name} names a mutation twice")
    return table


@cache
def spec(cluster: str) -> CompiledSpec:
    """An example cluster, compiled."""
    return compiled_example(cluster)


def chosen_mutations(cluster: str) -> list[Mutation]:
    """Mutations of one example cluster: its part of the sample, and its rows of the table."""
    every = [mutation for name in EXAMPLES for mutation in mutations(name, spec(name).objects)]
    named = undetected()
    sample = set(map(id, spread(every, SAMPLE)))
    return [
        mutation
        for mutation in every
        if mutation.cluster == cluster and (id(mutation) in sample or str(mutation) in named)
    ]


def is_detected(mutation: Mutation) -> bool:
    """Returns whether a check finds anything in the mutated objects.

    The clusters have no findings, so that the checks that read no object of the changed kind find nothing, as
    tests/lint/checks/test_contract.py proves.
    """
    changed = [manifest for manifest in (mutation.manifest, mutation.changed) if manifest]
    kinds = {kind for manifest in changed for kind in checks.kinds_of(manifest)}
    return any(True for _ in findings(mutation.objects, mutation.cluster, kinds))


def findings(
    objects: Iterable[Manifest], cluster: str, changed: Container[str] | None = None
) -> Iterator[ObjectFinding]:
    """Yields the findings in these objects, with the other files of an example cluster.

    Args:
        changed: the kinds that the checks read; None for all checks.
    """
    tree = list(objects)
    others = [artifact for artifact in spec(cluster).artifacts if not isinstance(artifact, Manifest)]
    yield from checks.findings(emitted([*tree, *others]), changed)
    yield from schema_findings(tree, "1.35")
