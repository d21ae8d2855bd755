"""References: whether what one object expects of another exists, and what nobody expects.

Each module is a subject with `findings(index)`. Rows of its tables say who expects what; a further reference is a
further row.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.lint.checks.references import (
    cohorts,
    containers,
    delivery,
    gpu_configs,
    hosts,
    labels,
    mig_layouts,
    namespaces,
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
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.references import missing_key, names

SUBJECTS = (
    names,
    missing_key,
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


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Every reference of a tree that leads nowhere, and what nothing refers to."""
    index = Index(tree)
    for subject in SUBJECTS:
        yield from subject.findings(index)
