"""Static node pools that may start no node although a queue has quota of their flavor."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks.object_consistency import TOO_FEW_NODES
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, pairs
from gpuc.trace.closed_flavors import NODEPOOL, flavors_with_quota


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Static node pools that may start no node, though queues have quota of their flavor."""
    closed = [
        (pool, {**dict(pairs(dig(pool.body, "spec", "template", "metadata", "labels"))), NODEPOOL: pool.name})
        for pool in tree.of("karpenter.sh", "NodePool")
        if quantity(dig(pool.body, "spec", "limits", "nodes")) == 0 and dig(pool.body, "spec", "replicas")
    ]
    promised = flavors_with_quota(tree) if closed else set()
    for pool, labels in closed:
        for flavor in tree.of("kueue.x-k8s.io", "ResourceFlavor"):
            wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
            if wanted and flavor.name in promised and wanted.items() <= labels.items():
                message = f"at most 0, and queues have quota of flavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool, ("spec", "limits", "nodes"), message)
