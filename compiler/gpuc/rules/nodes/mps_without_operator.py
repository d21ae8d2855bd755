from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("GPU101", source="bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins")
def mps_without_operator(cluster: Cluster) -> Findings:
    """A node pool shares GPUs through MPS, but its AMI has its own device plugin.

    The MPS control daemon is part of the GPU Operator's device plugin. Nodes with such an AMI advertise whole GPUs, and
    pods that request GPU shares stay pending.
    """
    for pool in cluster.gpu_pools:
        if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.kind == "mps":
            actual = f"node pool {pool.name} has sharing mps"
            message = (
                f"{actual}, which the device plugin of {pool.image.id} AMIs lacks; expected exclusive or timeSlicing"
            )
            yield (*pool.path, "sharing", "mps", "replicas"), message
