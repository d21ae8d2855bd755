from __future__ import annotations

from gpuc.model import Cluster
from gpuc.model.pool import IOPS_PER_MIB
from gpuc.rules import Findings, rule


@rule("KRP127", source="Amazon EBS User Guide, general purpose SSD volumes, gp3 volume performance")
def throughput_without_iops(cluster: Cluster) -> Findings:
    """The root volume of a node pool has too few I/O operations per second for its throughput.

    EC2 allows at most 0.25 MiB/s of throughput for each of them. It refuses the volume, so no node starts.
    """
    for pool in cluster.pools:
        least = IOPS_PER_MIB * pool.root_volume_throughput
        if pool.root_volume_iops < least:
            actual = f"rootVolumeIops of node pool {pool.name} is {pool.root_volume_iops}"
            message = f"{actual}; a throughput of {pool.root_volume_throughput} MiB/s needs {least} or more"
            yield (*pool.path, "rootVolumeIops"), message, f"set rootVolumeIops to {least}, or remove the field"
