from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


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
