from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("SHR004", source="NVIDIA/k8s-device-plugin v0.20.0 README, shared access")
def tenants_on_one_gpu(cluster: Cluster) -> Findings:
    """Several tenants share a GPU by time-slicing or MPS.

    Neither memory nor errors are isolated. The error or the full memory of one tenant ends the work of the other, and
    timing reveals what the other tenant runs.
    """
    for pool in cluster.gpu_pools:
        tenants = cluster.tenants_of(pool)
        if pool.sharing and pool.sharing.mode == "shared" and len(tenants) > 1:
            names = ", ".join(tenant.name for tenant in tenants)
            path = (*pool.path, "sharing", pool.sharing.kind, "replicas")
            yield path, f"tenants {names} share the GPUs of {pool.name} without isolation; expected one tenant"
