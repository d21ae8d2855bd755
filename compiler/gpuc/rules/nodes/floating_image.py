from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path


@rule("KRP011", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/managing-amis")
def floating_image(cluster: Cluster) -> Findings:
    """A node pool in production uses the latest AMI instead of a fixed version.

    Karpenter replaces every node of the node pool when AWS publishes a new AMI. You cannot plan the time. The new AMI
    can contain a driver and a CUDA version that you did not test.
    """
    if cluster.spec.environment != "prod":
        return
    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        if pool.ami.endswith("@latest"):
            yield path, f"the image in prod is {pool.ami}; expected a fixed version, for example al2023@v20260815"
