"""Node pools that may start no node, and the flavors that lead to them: capacity that is taken away on purpose.

Source: karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits), pkg/controllers/provisioning/provisioner.go
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.verify.amount import amount
from compiler.verify.flaw import Flaw
from compiler.verify.inside import TOO_FEW_NODES
from compiler.verify.tree import Tree, dig, items, pairs

NODEPOOL = "karpenter.sh/nodepool"


def flaws(tree: Tree) -> Iterator[Flaw]:
    """Static node pools that may start no node, though queues have quota of their flavor."""
    closed = [
        (pool, {**dict(pairs(dig(pool.body, "spec", "template", "metadata", "labels"))), NODEPOOL: pool.name})
        for pool in tree.of("karpenter.sh", "NodePool")
        if amount(dig(pool.body, "spec", "limits", "nodes")) == 0 and dig(pool.body, "spec", "replicas")
    ]
    promised = _promised(tree) if closed else set()
    for pool, labels in closed:
        for flavor in tree.of("kueue.x-k8s.io", "ResourceFlavor"):
            wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
            if wanted and flavor.name in promised and wanted.items() <= labels.items():
                message = f"at most 0, and queues have quota of flavor {flavor.name}"
                yield Flaw(TOO_FEW_NODES, pool, ("spec", "limits", "nodes"), message)


def closed_flavors(tree: Tree) -> frozenset[str]:
    """Names of the ResourceFlavors whose nodes come from a NodePool with `limits.nodes: "0"`, and from no other.

    A queue has no quota of such a flavor on purpose: what runs goes on, and nothing more is admitted. A flavor that a
    queue does give quota of is not closed: the limit of its pool is a fault.
    """
    closed: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    for pool in tree.of("karpenter.sh", "NodePool"):
        nodes = amount(dig(pool.body, "spec", "limits", "nodes"))
        labels = dict(pairs(dig(pool.body, "spec", "template", "metadata", "labels")))
        (closed if nodes == 0 else others).append({**labels, NODEPOOL: pool.name})
    found = set()
    for flavor in tree.of("kueue.x-k8s.io", "ResourceFlavor") if closed else ():
        wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
        if wanted and _any_has(closed, wanted) and not _any_has(others, wanted):
            found.add(flavor.name)
    return frozenset(found - _promised(tree) if found else found)


def _promised(tree: Tree) -> set[str]:
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
        if amount(dig(resource, "nominalQuota"))
    }


def _any_has(pools: list[dict[str, str]], wanted: dict[str, str]) -> bool:
    return any(wanted.items() <= labels.items() for labels in pools)
