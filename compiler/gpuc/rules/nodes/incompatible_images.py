from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

PARTS = ("driver", "toolkit", "device_plugin")


@rule("GPU002", source="NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go")
def incompatible_images(cluster: Cluster) -> Findings:
    """The images of GPU pools leave different parts to the GPU Operator.

    One ClusterPolicy serves the complete cluster. A part that the operator installs conflicts with the same part of an
    image, or is missing on nodes whose image does not include it.
    """
    if not cluster.gpu_pools:
        return
    # Pools are compared with a pool that has the cluster's image, or else with the first pool.
    usual = min(cluster.gpu_pools, key=lambda pool: pool.spec.image is not None)
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        for part in PARTS:
            source, expected = getattr(pool.image, part), getattr(usual.image, part)
            if source != expected:
                name = part.replace("_", " ")
                yield path, f"{name} of {pool.name} is from the {source}, {name} of {usual.name} from the {expected}"
                break
