from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ENOUGH_MIB = 1024


@rule("SHR101", Severity.WARNING)
def tiny_mps_shares(cluster: Cluster) -> Findings:
    """A share of a GPU has less memory than a process needs to do anything.

    MPS gives each client its part of the memory; what CUDA and its libraries take by themselves is half a gigabyte of
    it, and the first allocation fails.
    """
    for pool in cluster.gpu_pools:
        if pool.gpu and pool.gpu.memory_mib and pool.sharing and pool.sharing.kind == "mps":
            part = pool.gpu.memory_mib // pool.sharing.replicas
            if part < ENOUGH_MIB and pool.sharing.replicas <= pool.gpu.mps_clients_max:
                message = f"{pool.sharing.replicas} shares of {pool.gpu.name} have {part}Mi each; 1Gi is the least"
                yield (*pool.path, "sharing", "mps", "replicas"), message
