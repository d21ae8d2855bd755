"""Closed flavors: ResourceFlavors whose node pools are limited to 0 nodes, because the capacity is being removed.

Source: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits), pkg/controllers/provisioning/provisioner.go
"""

from __future__ import annotations

from gpuc.kubernetes.quantity import quantity
from gpuc.objects.node_pools import Nodes
from gpuc.objects.object_set import ObjectSet, dig, items


def closed_flavors(objects: ObjectSet) -> frozenset[str]:
    """Returns the names of ResourceFlavors whose NodePools all have `limits.nodes: "0"`.

    ClusterQueues have no quota of a closed flavor, so running pods continue, and Kueue admits no new pods. If a
    ClusterQueue has quota of the flavor, the flavor is not closed, and the limit of the NodePool is a mistake.
    """
    nodes = Nodes(objects)
    closed = [pool for pool in nodes.pools if quantity(dig(pool.manifest.body, "spec", "limits", "nodes")) == 0]
    names = set()
    for flavor in objects.of("kueue.x-k8s.io", "ResourceFlavor") if closed else ():
        labels = dig(flavor.body, "spec", "nodeLabels")
        pools = nodes.matching(labels) if labels else []
        if pools and all(pool in closed for pool in pools):
            names.add(flavor.name)
    return frozenset(names - flavors_with_quota(objects) if names else names)


def flavors_with_quota(objects: ObjectSet) -> set[str]:
    """Returns the names of the flavors of which a ClusterQueue has quota."""
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
