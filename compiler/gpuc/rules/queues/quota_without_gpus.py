from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE117")
def quota_without_gpus(cluster: Cluster) -> Findings:
    """A node pool without GPUs is counted by ResourceQuotas.

    ResourceQuotas count a pool by the name of its GPU resource. Pods on all pools request cpu and memory, so the
    ResourceQuota of a namespace cannot limit the use of a pool without GPUs.
    """
    for pool in cluster.pools:
        if pool.counted == "quota" and not pool.is_gpu:
            message = f"counted of node pool {pool.name} is quota, but node pool {pool.name} has no GPUs"
            yield (*pool.path, "counted"), message, f"remove counted from node pool {pool.name}"
