"""Topology levels whose node label is probably misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.node_pool import normal
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items

MISSPELT_LEVEL = declare_rule(
    "REF034",
    Severity.WARNING,
    "The node label of a topology level is probably a misspelt label of a node pool.",
    "Kueue finds no node in the topology and admits no work to its flavors.",
    "kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go",
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about levels whose label no node pool sets, but is similar to a label of a node pool."""
    known = index.nodes.keys
    for topology in index.tree.of("kueue.x-k8s.io", "Topology"):
        for number, level in items(dig(topology.body, "spec", "levels")):
            key = dig(level, "nodeLabel")
            if not isinstance(key, str) or normal(key) in known:
                continue
            if suggestion := misspelt(key, known):
                message = f'no node pool has the label "{key}", did you mean "{suggestion}"'
                yield ObjectFinding(
                    MISSPELT_LEVEL, topology, ("spec", "levels", number, "nodeLabel"), message, write(suggestion)
                )
