"""The smallest pods that a ClusterQueue can admit."""

from __future__ import annotations

from collections.abc import Mapping

from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.queue import Flavor, Member
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, PAGES, Amounts
from gpuc.trace.cluster_index import ClusterIndex

Smallest = Mapping[str, tuple[ResourceFlavor, dict[str, Amounts]]]
"""By flavor: the ResourceFlavor, and by resource the smallest pod that requests the resource."""


def smallest_pods(cluster: ClusterIndex, queue: Member) -> Smallest:
    """Returns the smallest pods of a ClusterQueue in each of its flavors that the input has."""
    return {
        name: (cluster.flavors[name], _smallest(queue, in_queue))
        for name, in_queue in queue.flavors.items()
        if name in cluster.flavors
    }


def _smallest(queue: Member, flavor: Flavor) -> dict[str, Amounts]:
    """Returns the smallest pod that requests a resource, by the resources that the ClusterQueue can use in a flavor.

    The key is an empty string if the ClusterQueue can use only cpu and memory.
    """
    names = flavor.resources
    usable = {name for name in names if queue.capacity((flavor.name, name)) > 0}
    base = {name: count for name, count in ((CPU, 1), (MEMORY, MIB)) if name in usable}
    extended = [name for name in names if name in usable and name not in (CPU, MEMORY, "ephemeral-storage", "pods")]
    return {name: {**base, name: _least(name)} for name in extended} or ({"": base} if usable else {})


def _least(resource: str) -> int:
    """Returns the smallest amount that a pod can request: one page of huge pages, otherwise 1."""
    return PAGES.get(resource, 1)
