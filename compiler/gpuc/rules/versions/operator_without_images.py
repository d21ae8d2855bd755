from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("VER103", source="NVIDIA/gpu-operator v26.7.0 api/nvidia/v1/clusterpolicy_types.go (ImagePath)")
def operator_without_images(cluster: Cluster) -> Findings:
    """gpuc does not know the operand images of the GPU Operator's version.

    gpuc writes the ClusterPolicy, with the image of each operand. Without the images the operator ends each
    reconciliation with an error and deploys nothing.
    """
    version = cluster.components["gpu-operator"].version
    if cluster.gpu_pools and version not in cluster.catalog.operands:
        known = ", ".join(sorted(cluster.catalog.operands))
        message = f"gpu-operator is {version}; gpuc knows the images of its operands for {known}"
        yield ("spec", "releases", "components", "gpu-operator"), message
