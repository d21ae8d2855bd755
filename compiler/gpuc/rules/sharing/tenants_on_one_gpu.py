from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("SHR004", source="NVIDIA/k8s-device-plugin v0.20.0 README, shared access")
def tenants_on_one_gpu(cluster: Cluster) -> Findings:
    """Several tenants share a GPU in turn or through MPS.

    Neither memory nor faults are isolated: one tenant's error or full memory ends the work of the other, and timing
    shows what the other does.
    """
    for pool in cluster.gpu_pools:
        tenants = cluster.tenants_of(pool)
        if pool.sharing and pool.sharing.mode == "shared" and len(tenants) > 1:
            names = ", ".join(tenant.name for tenant in tenants)
            path = (*pool.path, "sharing", pool.sharing.kind, "replicas")
            yield path, f"{pool.name} is shared by tenants {names}; shares of a GPU isolate nothing, so it takes one"
