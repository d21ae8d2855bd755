"""Static node pools that start no node, although a ClusterQueue has quota for their flavor."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import from_objects
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks.object_consistency import TOO_FEW_NODES
from gpuc.objects.node_pools import Nodes
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about static node pools with a limit of 0 nodes whose flavor has quota."""
    nodes, with_quota = Nodes(objects), from_objects(objects).with_quota
    for flavor in objects.of(GROUP, "ResourceFlavor") if nodes.pools else ():
        labels = dig(flavor.body, "spec", "nodeLabels")
        for pool in nodes.matching(labels) if labels and flavor.name in with_quota else ():
            spec = dig(pool.manifest.body, "spec")
            if dig(spec, "replicas") and quantity(dig(spec, "limits", "nodes")) == 0:
                message = f"the limit is 0 nodes, but ClusterQueues have quota for ResourceFlavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool.manifest, ("spec", "limits", "nodes"), message)
