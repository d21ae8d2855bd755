from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("SHR001", source="NVIDIA/k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/device.go")
def too_many_mps_clients(cluster: Cluster) -> Findings:
    """A GPU has more MPS shares than it supports.

    The device plugin exits, and the node advertises no GPU at all.
    """
    for pool in cluster.gpu_pools:
        if pool.gpu and pool.sharing and pool.sharing.kind == "mps":
            most = pool.gpu.mps_clients_max
            if pool.sharing.replicas > most:
                message = f"{pool.sharing.replicas} MPS shares of {pool.gpu.name}, which supports {most} clients"
                yield (*pool.path, "sharing", "mps", "replicas"), message, f"write at most {most}"
