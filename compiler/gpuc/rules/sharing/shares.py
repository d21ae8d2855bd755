"""Rules about GPU shares, the replicas of a GPU with time-slicing or MPS: their number, and their users."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, GpuPool
from gpuc.rules import Findings, Found, gpu_rule, rule
from gpuc.rules.queues.places import quotas

ENOUGH_MIB = 1024


@gpu_rule("SHR001")
def too_many_mps_clients(pool: GpuPool) -> Findings:
    """A node pool has more MPS shares per GPU than the GPU supports."""
    if pool.gpu and pool.sharing and pool.sharing.kind == "mps":
        most = pool.gpu.mps_clients_max
        if pool.sharing.replicas > most:
            actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
            fix = f"set sharing.mps.replicas of node pool {pool.name} to at most {most}"
            yield Found((*pool.path, "sharing", "mps", "replicas"), f"{actual}; expected at most {most}", fix)


@gpu_rule("SHR101", Severity.WARNING)
def tiny_mps_shares(pool: GpuPool) -> Findings:
    """An MPS share has less GPU memory than a process needs."""
    if pool.gpu and pool.gpu.memory_mib and pool.sharing and pool.sharing.kind == "mps":
        share_mib = pool.gpu.memory_mib // pool.sharing.replicas
        if share_mib < ENOUGH_MIB and pool.sharing.replicas <= pool.gpu.mps_clients_max:
            actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
            message = f"{actual}, with {share_mib}Mi of memory per share; expected at least 1Gi"
            yield Found((*pool.path, "sharing", "mps", "replicas"), message)


@rule("SHR004")
def tenants_on_one_gpu(cluster: Cluster) -> Findings:
    """Several tenants share a GPU by time-slicing or MPS."""
    for pool in cluster.gpu_pools:
        tenants = cluster.tenants_of(pool)
        if pool.sharing and pool.sharing.mode == "shared" and len(tenants) > 1:
            names = ", ".join(tenant.name for tenant in tenants)
            path = (*pool.path, "sharing", pool.sharing.kind, "replicas")
            actual = f"tenants {names} have quota for node pool {pool.name}, whose pods share a GPU without isolation"
            message = f"{actual}; expected quota of one tenant"
            related = [Related(f"quota of {quota.kind} {quota.owner}", quota.place) for quota in quotas(cluster, pool)]
            yield Found(path, message, related=related)
