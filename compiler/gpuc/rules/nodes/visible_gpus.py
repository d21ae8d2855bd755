from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

UNRESTRICTED = ("al2",)
"""AMI families that include a container toolkit which gpuc cannot configure."""


@rule("GPU003", source="NVIDIA/gpu-operator#421")
def visible_gpus(cluster: Cluster) -> Findings:
    """Pods can use GPUs that they did not request.

    The container toolkit of AL2 AMIs obeys the environment variable NVIDIA_VISIBLE_DEVICES. If a container sets this
    variable to all, the container gets all GPUs of the node. Quotas and MIG slices do not prevent this access.
    """
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        if pool.image.id in UNRESTRICTED:
            actual = f"node pool {pool.name} has {pool.image.id} AMIs, whose container toolkit gpuc cannot restrict"
            yield path, f"{actual}; expected al2023 or bottlerocket"
