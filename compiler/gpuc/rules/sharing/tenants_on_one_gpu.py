from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path, owner_kind, quotas


@rule("SHR004", source="NVIDIA/k8s-device-plugin v0.20.0 README, shared access")
def tenants_on_one_gpu(cluster: Cluster) -> Findings:
    """Several tenants share a GPU by time-slicing or MPS.

    Time-slicing and MPS isolate neither memory nor errors. If a process of one tenant fails or uses all memory, the
    processes of the other tenants end. From the timing of its own processes, a tenant can detect the activity of
    another tenant.
    """
    for pool in cluster.gpu_pools:
        tenants = cluster.tenants_of(pool)
        if pool.sharing and pool.sharing.mode == "shared" and len(tenants) > 1:
            names = ", ".join(tenant.name for tenant in tenants)
            path = (*pool.path, "sharing", pool.sharing.kind, "replicas")
            message = f"tenants {names} share the GPUs of node pool {pool.name}; expected one tenant"
            related = [
                Related(f"quota of {owner_kind(pool)} {quota.owner}", amount_path(quota.path, quota.spec))
                for quota in quotas(cluster, pool)
            ]
            yield path, message, "", related
