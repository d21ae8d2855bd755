"""References between objects: references to missing objects, and objects that nothing refers to.

A module checks one subject and has a function `findings(index)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.lint.checks.references import (
    cohorts,
    containers,
    delivery,
    gpu_configs,
    mig_layouts,
    missing_taints,
    namespaces,
    node_labels,
    operator_tolerations,
    overlay_capacity,
    overlays,
    projects,
    resources,
    selectors,
    shared_requests,
    startup_taints,
    subdomains,
    taints,
    topologies,
    unused,
)
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.references import missing_key, names

SUBJECTS = (
    names,
    missing_key,
    subdomains,
    cohorts,
    projects,
    delivery,
    node_labels,
    topologies,
    gpu_configs,
    mig_layouts,
    operator_tolerations,
    taints,
    startup_taints,
    missing_taints,
    selectors,
    resources,
    containers,
    overlays,
    overlay_capacity,
    shared_requests,
    namespaces,
    unused,
)
"""Subjects in the order of their findings."""


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about references to missing objects, and objects that nothing refers to."""
    index = Index(objects)
    for subject in SUBJECTS:
        yield from subject.findings(index)
