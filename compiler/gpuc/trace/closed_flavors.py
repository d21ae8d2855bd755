"""Node pools that may start no node, and the flavors that lead to them: capacity that is taken away on purpose.

Source: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits), pkg/controllers/provisioning/provisioner.go
"""

from __future__ import annotations

from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

NODEPOOL = "karpenter.sh/nodepool"


def closed_flavors(tree: ObjectSet) -> frozenset[str]:
    """Names of the ResourceFlavors whose nodes come from a NodePool with `limits.nodes: "0"`, and from no other.

    A queue has no quota of such a flavor on purpose: what runs goes on, and nothing more is admitted. A flavor that a
    queue does give quota of is not closed: the limit of its pool is a fault.
    """
    closed: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    for pool in tree.of("karpenter.sh", "NodePool"):
        nodes = quantity(dig(pool.body, "spec", "limits", "nodes"))
        labels = dict(pairs(dig(pool.body, "spec", "template", "metadata", "labels")))
        (closed if nodes == 0 else others).append({**labels, NODEPOOL: pool.name})
    found = set()
    for flavor in tree.of("kueue.x-k8s.io", "ResourceFlavor") if closed else ():
        wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
        if wanted and _any_has(closed, wanted) and not _any_has(others, wanted):
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


def _any_has(pools: list[dict[str, str]], wanted: dict[str, str]) -> bool:
    return any(wanted.items() <= labels.items() for labels in pools)
