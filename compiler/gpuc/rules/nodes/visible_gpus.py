from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

UNRESTRICTED = ("al2",)
"""AMI families with their own container toolkit, which gpuc does not configure."""


@rule("GPU003", source="NVIDIA/gpu-operator#421")
def visible_gpus(cluster: Cluster) -> Findings:
    """Pods can use GPUs that they did not request.

    On these AMIs the container toolkit obeys the environment variable NVIDIA_VISIBLE_DEVICES. A container with
    the value all gets all GPUs of the node. Quotas and MIG slices do not prevent this.
    """
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        if pool.image.id in UNRESTRICTED:
            message = (
                f"gpuc cannot restrict the container toolkit of {pool.image.id} AMIs; expected al2023 or bottlerocket"
            )
            yield path, f"node pool {pool.name}: {message}"
