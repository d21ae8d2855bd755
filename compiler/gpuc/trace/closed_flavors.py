"""Closed flavors: ResourceFlavors whose node pools must not start nodes, because the capacity was removed on purpose.

Source: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits), pkg/controllers/provisioning/provisioner.go
"""

from __future__ import annotations

from gpuc.kubernetes.quantity import quantity
from gpuc.objects.node_pools import Nodes
from gpuc.objects.object_set import ObjectSet, dig, items

NODEPOOL = "karpenter.sh/nodepool"


def closed_flavors(objects: ObjectSet) -> frozenset[str]:
    """Names of the ResourceFlavors all of whose NodePools have `limits.nodes: "0"`.

    Queues have no quota of a closed flavor: running pods continue, and Kueue admits no others. A flavor with quota in
    a queue is not closed; there the limit of the pool is a mistake.
    """
    nodes = Nodes(objects)
    closed = [pool for pool in nodes.pools if quantity(dig(pool.manifest.body, "spec", "limits", "nodes")) == 0]
    found = set()
    for flavor in objects.of("kueue.x-k8s.io", "ResourceFlavor") if closed else ():
        labels = dig(flavor.body, "spec", "nodeLabels")
        pools = nodes.matching(labels) if labels else []
        if pools and all(pool in closed for pool in pools):
            found.add(flavor.name)
    return frozenset(found - flavors_with_quota(objects) if found else found)


def flavors_with_quota(objects: ObjectSet) -> set[str]:
    """Names of the flavors of which a ClusterQueue has quota."""
    flavors = (
        flavor
        for queue in objects.of("kueue.x-k8s.io", "ClusterQueue")
        for _, group in items(dig(queue.body, "spec", "resourceGroups"))
        for _, flavor in items(dig(group, "flavors"))
    )
    return {
        str(dig(flavor, "name"))
        for flavor in flavors
        for _, resource in items(dig(flavor, "resources"))
        if quantity(dig(resource, "nominalQuota"))
    }
