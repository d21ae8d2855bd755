from __future__ import annotations

from compiler.model import Cluster
from compiler.rules import Breaches, rule


@rule("GPU101", source="bottlerocket-os/bottlerocket, settings.kubelet-device-plugins.nvidia; pitfall GPU-002")
def shares_without_device_plugin(cluster: Cluster) -> Breaches:
    """GPUs shall be shared on an image that brings its own device plugin.

    Such an image reads sharing from its own settings, which gpuc does not write: nodes would advertise whole GPUs, and
    shares would be asked for in vain.
    """
    for pool in cluster.gpu_pools:
        if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.mode == "shared":
            key = pool.sharing.kind
            message = f"{key} on {pool.image.id}, whose own device plugin gpuc does not configure; it takes exclusive"
            yield (*pool.path, "sharing", key), message
