"""Computes the smallest pods that a ClusterQueue can admit. If these pods cannot run, no pod of the queue can run."""

from collections.abc import Mapping

from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.queue import Flavor, Member
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, PAGES, PODS, Amounts
from gpuc.trace.cluster_index import ClusterIndex

Smallest = Mapping[str, tuple[ResourceFlavor, dict[str, Amounts]]]
"""By flavor: the ResourceFlavor, and by resource the smallest pod that requests the resource."""


def smallest_pods(cluster: ClusterIndex, queue: Member) -> Smallest:
    """Returns the smallest pods that a ClusterQueue can admit, by the name of a flavor that the input defines."""
    known = [flavor for name, flavor in queue.flavors.items() if name in cluster.flavors]
    return {flavor.name: (cluster.flavors[flavor.name], _smallest(queue, flavor)) for flavor in known}


def _smallest(queue: Member, flavor: Flavor) -> dict[str, Amounts]:
    """Returns the smallest pod that requests a resource, for each resource that the ClusterQueue can use in a flavor.

    The key is an empty string if the ClusterQueue can use only cpu and memory. Huge pages are requested in whole pages.
    """
    usable = [name for name in flavor.resources if queue.capacity((flavor.name, name)) > 0]
    base = {name: count for name, count in ((CPU, 1), (MEMORY, MIB)) if name in usable}
    extended = [name for name in usable if name not in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)]
    return {name: {**base, name: PAGES.get(name, 1)} for name in extended} or ({"": base} if usable else {})
