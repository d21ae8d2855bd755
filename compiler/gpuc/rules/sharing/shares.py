"""The shares of GPUs: their number, and who uses them."""

from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, GpuPool
from gpuc.rules import Findings, Found, gpu_rule, rule
from gpuc.rules.queues.places import amount_path, owner_kind, quotas

ENOUGH_MIB = 1024


@gpu_rule("SHR001", source="NVIDIA/k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/device.go")
def too_many_mps_clients(pool: GpuPool) -> Findings:
    """A node pool has more MPS shares per GPU than the GPU supports.

    The device plugin exits, and the node advertises no GPUs.
    """
    if pool.gpu and pool.sharing and pool.sharing.kind == "mps":
        most = pool.gpu.mps_clients_max
        if pool.sharing.replicas > most:
            actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
            message = f"{actual}; expected at most {most}"
            yield Found(
                (*pool.path, "sharing", "mps", "replicas"),
                message,
                f"set sharing.mps.replicas of node pool {pool.name} to at most {most}",
            )


@gpu_rule("SHR101", Severity.WARNING)
def tiny_mps_shares(pool: GpuPool) -> Findings:
    """An MPS share has less GPU memory than a process needs.

    MPS gives each client an equal fraction of the GPU memory. CUDA and its libraries need about half a gigabyte. If the
    fraction is too small, the first allocation of the process fails.
    """
    if pool.gpu and pool.gpu.memory_mib and pool.sharing and pool.sharing.kind == "mps":
        share_mib = pool.gpu.memory_mib // pool.sharing.replicas
        if share_mib < ENOUGH_MIB and pool.sharing.replicas <= pool.gpu.mps_clients_max:
            actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
            message = f"{actual}, with {share_mib}Mi of memory per share; expected at least 1Gi"
            yield Found((*pool.path, "sharing", "mps", "replicas"), message)


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
            yield Found(path, message, related=related)
