"""The number of MPS shares of a GPU."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ENOUGH_MIB = 1024


@rule("SHR001", source="NVIDIA/k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/device.go")
def too_many_mps_clients(cluster: Cluster) -> Findings:
    """A node pool has more MPS shares per GPU than the GPU supports.

    The device plugin exits, and the node advertises no GPUs.
    """
    for pool in cluster.gpu_pools:
        if pool.gpu and pool.sharing and pool.sharing.kind == "mps":
            most = pool.gpu.mps_clients_max
            if pool.sharing.replicas > most:
                actual = f"node pool {pool.name} has {pool.sharing.replicas} MPS shares per {pool.gpu.name} GPU"
                message = f"{actual}; expected at most {most}"
                yield (
                    (*pool.path, "sharing", "mps", "replicas"),
                    message,
                    f"set sharing.mps.replicas of node pool {pool.name} to at most {most}",
                )


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
