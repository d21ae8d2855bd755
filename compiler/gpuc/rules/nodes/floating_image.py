from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path


@rule("KRP011", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/managing-amis")
def floating_image(cluster: Cluster) -> Findings:
    """A node pool in production uses the latest AMI instead of a version.

    A new AMI release replaces every node of the node pool at an unplanned time. It can contain a driver and a CUDA
    version that you did not test.
    """
    if cluster.spec.environment != "prod":
        return
    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        if pool.ami.endswith("@latest"):
            message = f"node pool {pool.name} uses {pool.ami} in prod; expected a version, for example al2023@v20260815"
            yield path, message
