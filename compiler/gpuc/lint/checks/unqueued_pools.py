"""Node pools that no ResourceFlavor selects, so that Kueue does not count their GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model.names import EFA, GPU
from gpuc.objects.node_pools import Nodes, Overlays, Pool
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.trace.instance_labels import instance_labels


def unqueued_pools(objects: ObjectSet, nodes: Nodes) -> list[Pool]:
    """Returns the node pools that no ResourceFlavor selects.

    The list is empty if the input has no ResourceFlavor, or a ResourceFlavor without labels, which selects all nodes.
    """
    flavors = [dig(flavor.body, "spec", "nodeLabels") for flavor in objects.of(GROUP, "ResourceFlavor")]
    if not flavors or not all(flavors):
        return []
    selected = {pool.name for labels in flavors for pool in nodes.matching(labels)}
    return [pool for pool in nodes.pools if pool.name not in selected]


def devices(pool: Pool, overlays: Overlays) -> set[str]:
    """Returns the extended resources and huge pages of the pool's nodes, by their instance types and NodeOverlays."""
    return {name for type_name in pool.listed(INSTANCE_TYPE) for name in _devices(pool, type_name, overlays)}


def _devices(pool: Pool, type_name: str, overlays: Overlays) -> Iterator[str]:
    catalog = overlays.catalog
    row = catalog.instance_type(type_name)
    counts = {GPU: row.gpu_count, EFA: row.efa} if row else {}
    for overlay in reversed(overlays.of(pool, type_name, instance_labels(catalog, type_name) if row else {})):
        for name, value in overlay.value.capacity.items():
            counts[name] = amount(name, value) or 0
    yield from (name for name, count in counts.items() if count and ("/" in name or name.startswith("hugepages-")))
