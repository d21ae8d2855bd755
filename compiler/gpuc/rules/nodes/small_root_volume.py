from __future__ import annotations

from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.quantity import format_quantity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP117", source="compiler/gpuc/catalog/images.json, root_volume_min_gib")
def small_root_volume(cluster: Cluster) -> Findings:
    """A root volume is too small for the image of its nodes.

    EC2 refuses a volume that is smaller than the image's snapshot, so that no node starts; on one that is hardly larger
    the images of the node's own agents fill the disk, and the kubelet evicts pods.
    """
    for pool in cluster.pools:
        least = pool.image.root_volume_min_gib
        if pool.root_volume_bytes < least * GIB:
            seen = format_quantity(pool.root_volume_bytes, "binary")
            message = f"the root volume has {seen}; nodes of family {pool.image.id} take {least}Gi or more"
            yield (*pool.path, "rootVolume"), message, f"write {least}Gi or more"
