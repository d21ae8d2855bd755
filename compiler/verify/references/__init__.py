"""References: whether what one object expects of another exists, and what nobody expects.

Each module is a subject with `flaws(index)`. Rows of its tables say who expects what; a further reference is a
further row.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.verify.flaw import Flaw
from compiler.verify.references import (
    cohorts,
    containers,
    delivery,
    gpu_configs,
    hosts,
    keys,
    labels,
    mig_layouts,
    names,
    namespaces,
    odd_ones,
    offers,
    open_nodes,
    operands,
    overlays,
    projects,
    resources,
    selectors,
    shared_requests,
    startup,
    taints,
    topologies,
    unused,
)
from compiler.verify.references.index import Index
from compiler.verify.tree import Tree

SUBJECTS = (
    names,
    keys,
    hosts,
    cohorts,
    projects,
    delivery,
    labels,
    topologies,
    gpu_configs,
    mig_layouts,
    operands,
    taints,
    startup,
    open_nodes,
    odd_ones,
    selectors,
    resources,
    containers,
    overlays,
    offers,
    shared_requests,
    namespaces,
    unused,
)
"""In the order in which they are told."""


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Every reference of a tree that leads nowhere, and what nothing refers to."""
    index = Index(tree)
    for subject in SUBJECTS:
        yield from subject.flaws(index)
