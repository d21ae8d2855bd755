from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

PARTS = ("driver", "toolkit", "device_plugin")


@rule("GPU002", source="NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go")
def images_that_disagree(cluster: Cluster) -> Findings:
    """GPU pools have images that leave different parts to the GPU Operator.

    One ClusterPolicy serves the whole cluster: what one image needs from the operator fights with what the other
    brings, or is missing on both.
    """
    if not cluster.gpu_pools:
        return
    # Pools with the cluster's image are right, those that depart from it are told; else the first pool is right.
    usual = min(cluster.gpu_pools, key=lambda pool: pool.spec.image is not None)
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        for part in PARTS:
            owner, usually = getattr(pool.image, part), getattr(usual.image, part)
            if owner != usually:
                name = part.replace("_", " ")
                message = f"the {name} of {pool.name} comes from the {owner}, that of {usual.name} from the {usually}"
                yield path, message
                break
