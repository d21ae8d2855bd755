from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path


@rule("KRP011", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/managing-amis")
def floating_image(cluster: Cluster) -> Findings:
    """The image of a production pool follows the newest release.

    An image includes its driver. A new image replaces every node of the pool at an unplanned time, with a driver and a
    CUDA version that were not tested.
    """
    if cluster.spec.environment != "prod":
        return
    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        if pool.ami.endswith("@latest"):
            yield path, f"the image is {pool.ami} in prod; expected a version, as in al2023@v20260815"
