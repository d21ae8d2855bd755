from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.names import GPU
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import quota_path


@rule(
    "KUE012",
    Severity.WARNING,
    source="NVIDIA/k8s-device-plugin v0.20.0 internal/rm/rm.go; kubernetes-sigs/kueue v0.19.2 flavorFungibility",
)
def slices_advertised_as_gpus(cluster: Cluster) -> Findings:
    """A queue has quota for MIG slices and whole GPUs, and both have the resource name nvidia.com/gpu.

    With the MIG strategy single a node advertises each slice as a GPU. If Kueue finds free quota first in the node pool
    with slices, a workload that requests a GPU gets a small slice.
    """
    for queue in cluster.queues:
        gpu_pools = [pool for pool in queue.pools if GPU in pool.gpu_resource_names]
        whole_gpu_pools = [
            f"node pool {pool.name}" for pool in gpu_pools if pool.sharing and pool.sharing.strategy != "single"
        ]
        for pool_quota in queue.pool_quotas:
            sharing = pool_quota.pool.sharing
            if whole_gpu_pools and sharing and sharing.strategy == "single":
                path = quota_path(pool_quota.path, pool_quota.spec, GPU)
                slices, gpus = f"slices of node pool {pool_quota.pool.name}", f"GPUs of {', '.join(whole_gpu_pools)}"
                message = f"queue {queue.name} has quota for {slices} and for {gpus}; "
                message += "both have the resource name nvidia.com/gpu"
                fix = f"set sharing.mig.strategy of node pool {pool_quota.pool.name} to mixed, or use two queues"
                yield path, message, fix
