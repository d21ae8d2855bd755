from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path, is_own_ami


@rule("KRP111", source="aws/karpenter-provider-aws v1.14.1 docs, EC2NodeClass amiSelectorTerms")
def invalid_image_version(cluster: Cluster) -> Findings:
    """The version of an AMI does not have the format of its AMI family.

    Karpenter finds no AMI with this name, and starts no node.
    """
    import re

    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        pattern = pool.image.alias_pattern
        if is_own_ami(pool) or pool.ami.endswith("@latest") or re.fullmatch(pattern, pool.ami):
            continue
        example = {"bottlerocket": "bottlerocket@v1.54.0"}.get(pool.image.id, f"{pool.image.id}@v20260815")
        yield path, f"{pool.ami} is not a version of AMI family {pool.image.id}; expected a version such as {example}"
