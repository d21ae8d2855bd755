from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

UNRESTRICTED = ("al2",)
"""Image families with their own container toolkit, which gpuc does not configure."""


@rule("GPU003", source="NVIDIA/gpu-operator#421")
def visible_gpus(cluster: Cluster) -> Findings:
    """Pods can use GPUs that they did not request.

    If the container toolkit obeys the environment variable NVIDIA_VISIBLE_DEVICES, every container image that sets it
    to all gets all GPUs of the node. Quotas and slices do not prevent this.
    """
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        if pool.image.id in UNRESTRICTED:
            yield path, f"gpuc cannot restrict the container toolkit of {pool.image.id}; use al2023 or bottlerocket"
