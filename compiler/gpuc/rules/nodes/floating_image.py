from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path


@rule("KRP011", source="aws/karpenter-provider-aws v1.14.1 docs/tasks/managing-amis")
def floating_image(cluster: Cluster) -> Findings:
    """A production image follows the newest release.

    An image brings its driver: a new one replaces every node of the pool at a time that nobody chose, with a driver and
    CUDA that nobody tried.
    """
    if cluster.spec.environment != "prod":
        return
    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        if pool.ami.endswith("@latest"):
            yield path, f"the image is {pool.ami} in prod; it takes a version, as in al2023@v20260815"
