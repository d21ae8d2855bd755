from __future__ import annotations

from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.quantity import format_quantity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP117", source="compiler/gpuc/catalog/images.json, root_volume_min_gib")
def small_root_volume(cluster: Cluster) -> Findings:
    """The root volume of a node pool is too small for its AMI.

    EC2 refuses a volume that is smaller than the snapshot of the AMI, so no node starts. On a slightly larger volume,
    the container images of the DaemonSets fill the disk, and the kubelet evicts pods.
    """
    for pool in cluster.pools:
        least = pool.image.root_volume_min_gib
        if pool.root_volume_bytes < least * GIB:
            actual = format_quantity(pool.root_volume_bytes, "binary")
            message = f"rootVolume of node pool {pool.name} is {actual}; {pool.image.id} AMIs need {least}Gi or more"
            yield (*pool.path, "rootVolume"), message, f"set rootVolume of node pool {pool.name} to {least}Gi or more"
