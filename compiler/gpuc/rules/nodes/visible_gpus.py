from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

UNFENCED = ("al2",)
"""Images that bring their own container toolkit, into which gpuc writes nothing."""


@rule("GPU003", source="NVIDIA/gpu-operator#421")
def visible_gpus(cluster: Cluster) -> Findings:
    """Pods can see GPUs that they did not ask for.

    Where the container toolkit obeys an environment variable, every image that sets NVIDIA_VISIBLE_DEVICES to all gets
    all GPUs of the node: quota and slices hold nobody back.
    """
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        if pool.image.id in UNFENCED:
            yield path, f"gpuc does not fence the container toolkit of {pool.image.id}; use al2023 or bottlerocket"
