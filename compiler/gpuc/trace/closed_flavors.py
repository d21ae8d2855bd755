"""Node pools that may start no node, and the flavors that lead to them: capacity that is taken away on purpose.

Source: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits), pkg/controllers/provisioning/provisioner.go
"""

from __future__ import annotations

from gpuc.kubernetes.quantity import quantity
from gpuc.objects.node_pools import Nodes
from gpuc.objects.object_set import ObjectSet, dig, items

NODEPOOL = "karpenter.sh/nodepool"


def closed_flavors(tree: ObjectSet) -> frozenset[str]:
    """Names of the ResourceFlavors whose nodes come from a NodePool with `limits.nodes: "0"`, and from no other.

    A queue has no quota of such a flavor on purpose: what runs goes on, and nothing more is admitted. A flavor that a
    queue does give quota of is not closed: the limit of its pool is a fault.
    """
    nodes = Nodes(tree)
    closed = [pool for pool in nodes.pools if quantity(dig(pool.manifest.body, "spec", "limits", "nodes")) == 0]
    found = set()
    for flavor in tree.of("kueue.x-k8s.io", "ResourceFlavor") if closed else ():
        labels = dig(flavor.body, "spec", "nodeLabels")
        pools = nodes.matching(labels) if labels else []
        if pools and all(pool in closed for pool in pools):
            found.add(flavor.name)
    return frozenset(found - promised_flavors(tree) if found else found)


def promised_flavors(tree: ObjectSet) -> set[str]:
    """Names of the flavors that some ClusterQueue gives quota of."""
    flavors = (
        flavor
        for queue in tree.of("kueue.x-k8s.io", "ClusterQueue")
        for _, group in items(dig(queue.body, "spec", "resourceGroups"))
        for _, flavor in items(dig(group, "flavors"))
    )
    return {
        str(dig(flavor, "name"))
        for flavor in flavors
        for _, resource in items(dig(flavor, "resources"))
        if quantity(dig(resource, "nominalQuota"))
    }
