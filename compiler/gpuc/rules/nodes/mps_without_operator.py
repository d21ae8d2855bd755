from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("GPU101", source="bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins")
def mps_without_operator(cluster: Cluster) -> Findings:
    """GPUs are shared through MPS on an image that has its own device plugin.

    The MPS control daemon is part of the GPU Operator's device plugin. Nodes of such an image would advertise whole
    GPUs, and pods that request shares would stay pending.
    """
    for pool in cluster.gpu_pools:
        if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.kind == "mps":
            message = f"MPS on {pool.image.id}, whose device plugin has no MPS; expected exclusive or timeSlicing"
            yield (*pool.path, "sharing", "mps", "replicas"), message
