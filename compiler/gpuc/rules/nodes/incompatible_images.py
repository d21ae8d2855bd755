from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path

COMPONENTS = {"driver": "driver", "toolkit": "container toolkit", "device_plugin": "device plugin"}
SOURCES = {"image": "AMI", "operator": "GPU Operator"}


@rule("GPU002", source="NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go")
def incompatible_images(cluster: Cluster) -> Findings:
    """The AMIs of two GPU node pools need different components of the GPU Operator.

    A cluster has one ClusterPolicy for all nodes. A component that the operator installs conflicts with the same
    component of an AMI. A component that the operator does not install is missing on nodes whose AMI lacks it.
    """
    if not cluster.gpu_pools:
        return
    # The reference is a pool with the cluster's AMI, or the first pool if every pool has another AMI.
    reference = min(cluster.gpu_pools, key=lambda pool: pool.spec.image is not None)
    for path, pool in {image_path(pool): pool for pool in cluster.gpu_pools}.items():
        for attribute, component in COMPONENTS.items():
            source, expected = getattr(pool.image, attribute), getattr(reference.image, attribute)
            if source != expected:
                actual = f"node pool {pool.name} gets the {component} from the {SOURCES[source]}"
                yield path, f"{actual}, but node pool {reference.name} from the {SOURCES[expected]}"
                break
