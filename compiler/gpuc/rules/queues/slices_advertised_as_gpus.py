from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.names import GPU
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import leaf


@rule(
    "KUE012",
    Severity.WARNING,
    source="NVIDIA/k8s-device-plugin v0.20.0 internal/rm/rm.go; kubernetes-sigs/kueue v0.19.2 flavorFungibility",
)
def slices_advertised_as_gpus(cluster: Cluster) -> Findings:
    """A queue has quota for MIG slices and whole GPUs, both with the resource name nvidia.com/gpu.

    With the MIG strategy single a node advertises each slice as a GPU. A workload that requests a GPU may get a small
    slice, if the node pool with slices has free quota first.
    """
    for queue in cluster.queues:
        offering = [pool for pool in queue.pools if GPU in pool.gpu_resource_names]
        whole = [pool.name for pool in offering if pool.sharing and pool.sharing.strategy != "single"]
        for pool_quota in queue.pool_quotas:
            sharing = pool_quota.pool.sharing
            if whole and sharing and sharing.strategy == "single":
                path = leaf(pool_quota, queue.spec.quota[pool_quota.pool.name], GPU)
                slices = f"slices of node pool {pool_quota.pool.name}"
                message = f"queue {queue.name}: {slices} and GPUs of {', '.join(whole)} are both named nvidia.com/gpu"
                yield path, message, f"set MIG strategy of node pool {pool_quota.pool.name} to mixed, or use two queues"
