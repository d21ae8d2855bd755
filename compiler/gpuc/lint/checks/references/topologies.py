"""Keys of labels in the levels of topologies that are nearly those of node pools."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.node_pool import normal
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items

NEARLY_A_LABEL = declare_rule(
    "REF034",
    Severity.WARNING,
    "A level of a topology has nearly the key of a label that node pools give.",
    "Kueue finds no node in the topology, and admits no work to its flavors.",
    "kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go",
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Levels that no pool has, where one has nearly the same."""
    known = index.nodes.keys
    for topology in index.tree.of("kueue.x-k8s.io", "Topology"):
        for number, level in items(dig(topology.body, "spec", "levels")):
            key = dig(level, "nodeLabel")
            if not isinstance(key, str) or normal(key) in known:
                continue
            if near := misspelt(key, known):
                message = f'no node pool gives "{key}", did you mean "{near}"'
                yield ObjectFinding(
                    NEARLY_A_LABEL, topology, ("spec", "levels", number, "nodeLabel"), message, write(near)
                )
