from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("GPU101", source="bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins")
def mps_without_operator(cluster: Cluster) -> Findings:
    """GPUs shall be shared through MPS on an image that brings its own device plugin.

    The MPS control daemon comes with the GPU Operator's device plugin. Nodes of such an image would advertise whole
    GPUs, and shares would be asked for in vain.
    """
    for pool in cluster.gpu_pools:
        if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.kind == "mps":
            message = f"MPS on {pool.image.id}, whose own device plugin has none; it takes exclusive or timeSlicing"
            yield (*pool.path, "sharing", "mps", "replicas"), message
