from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ENOUGH_MIB = 1024


@rule("SHR101", Severity.WARNING)
def tiny_mps_shares(cluster: Cluster) -> Findings:
    """An MPS share has less GPU memory than a process needs.

    MPS gives each client an equal fraction of the GPU memory. CUDA and its libraries need about half a gigabyte. If the
    fraction is too small, the first allocation of the process fails.
    """
    for pool in cluster.gpu_pools:
        if pool.gpu and pool.gpu.memory_mib and pool.sharing and pool.sharing.kind == "mps":
            share_mib = pool.gpu.memory_mib // pool.sharing.replicas
            if share_mib < ENOUGH_MIB and pool.sharing.replicas <= pool.gpu.mps_clients_max:
                actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
                message = f"{actual}, with {share_mib}Mi of memory per share; expected at least 1Gi"
                yield (*pool.path, "sharing", "mps", "replicas"), message
