from __future__ import annotations

from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.quantity import format_quantity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP117", source="compiler/gpuc/catalog/images.json, root_volume_min_gib")
def small_root_volume(cluster: Cluster) -> Findings:
    """The root volume is too small for the image of the nodes.

    EC2 refuses a volume that is smaller than the snapshot of the image, so no node starts. On a volume that is hardly
    larger, the images of the node agents fill the disk, and the kubelet evicts pods.
    """
    for pool in cluster.pools:
        least = pool.image.root_volume_min_gib
        if pool.root_volume_bytes < least * GIB:
            actual = format_quantity(pool.root_volume_bytes, "binary")
            message = f"the root volume has {actual}; nodes of family {pool.image.id} need {least}Gi or more"
            yield (*pool.path, "rootVolume"), message, f"write {least}Gi or more"
