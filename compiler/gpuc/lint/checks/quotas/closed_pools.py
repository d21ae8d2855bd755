"""Static node pools that start no node, although a ClusterQueue has quota for their flavor."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import from_objects
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks.object_consistency import TOO_FEW_NODES
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, pairs


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about static node pools with a limit of 0 nodes whose flavor has quota."""
    closed = [
        (pool, {**dict(pairs(dig(pool.body, "spec", "template", "metadata", "labels"))), NODE_POOL: pool.name})
        for pool in objects.of("karpenter.sh", "NodePool")
        if quantity(dig(pool.body, "spec", "limits", "nodes")) == 0 and dig(pool.body, "spec", "replicas")
    ]
    with_quota = from_objects(objects).with_quota
    for pool, labels in closed:
        for flavor in objects.of("kueue.x-k8s.io", "ResourceFlavor"):
            wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
            if wanted and flavor.name in with_quota and wanted.items() <= labels.items():
                message = f"the limit is 0 nodes, but ClusterQueues have quota for ResourceFlavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool, ("spec", "limits", "nodes"), message)
