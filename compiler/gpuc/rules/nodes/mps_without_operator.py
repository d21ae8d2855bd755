from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("GPU101", source="bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins")
def mps_without_operator(cluster: Cluster) -> Findings:
    """A node pool shares GPUs through MPS, but the AMI of the node pool has a device plugin.

    The MPS control daemon is part of the GPU Operator's device plugin. The device plugin of the AMI has no MPS control
    daemon: nodes advertise whole GPUs, and pods that request GPU shares stay pending.
    """
    for pool in cluster.gpu_pools:
        if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.kind == "mps":
            actual = f"the device plugin of {pool.image.id} AMIs does not support sharing mps of node pool {pool.name}"
            message = f"{actual}; expected exclusive or timeSlicing"
            yield (*pool.path, "sharing", "mps", "replicas"), message
