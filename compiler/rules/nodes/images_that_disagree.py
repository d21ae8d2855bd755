from __future__ import annotations

from compiler.model import Cluster, Pool
from compiler.rules import Breaches, rule
from compiler.rules.nodes._images import image_path

PARTS = ("driver", "toolkit", "device_plugin")


@rule("GPU002", source="pitfall GPU-002; NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go")
def images_that_disagree(cluster: Cluster) -> Breaches:
    """GPU pools have images that leave different parts to the GPU Operator.

    One ClusterPolicy serves the whole cluster: what one image needs from the operator fights with what the other
    brings, or is missing on both.
    """
    told = set()
    pools = cluster.gpu_pools
    for pool in pools:
        other = next((first for first in pools if _owners(first) != _owners(pool)), None)
        # Of two that disagree, the one that departs from the cluster's image is told; of two such, the later.
        if other is None or pool.spec.image is None or (other.spec.image and pools.index(other) > pools.index(pool)):
            continue
        path = image_path(pool)
        if path not in told:
            told.add(path)
            part = next(name for name in PARTS if getattr(pool.image, name) != getattr(other.image, name))
            owner, others = getattr(pool.image, part), getattr(other.image, part)
            name = part.replace("_", " ")
            message = f"the {name} of {pool.name} comes from the {owner}, that of {other.name} from the {others}"
            yield path, message


def _owners(pool: Pool) -> tuple[str, ...]:
    return tuple(getattr(pool.image, part) for part in PARTS)
