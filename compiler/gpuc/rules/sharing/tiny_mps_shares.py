from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ENOUGH_MIB = 1024


@rule("SHR101", Severity.WARNING)
def tiny_mps_shares(cluster: Cluster) -> Findings:
    """An MPS share has less GPU memory than a process needs.

    MPS gives each client an equal part of the memory. CUDA and its libraries need about half a gigabyte. If the
    part is too small, the first allocation of the process fails.
    """
    for pool in cluster.gpu_pools:
        if pool.gpu and pool.gpu.memory_mib and pool.sharing and pool.sharing.kind == "mps":
            part = pool.gpu.memory_mib // pool.sharing.replicas
            if part < ENOUGH_MIB and pool.sharing.replicas <= pool.gpu.mps_clients_max:
                actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares of {pool.gpu.name}"
                message = f"{actual} with {part}Mi each; expected at least 1Gi"
                yield (*pool.path, "sharing", "mps", "replicas"), message
