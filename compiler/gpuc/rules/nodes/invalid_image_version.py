from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import has_ami_id, image_path


@rule("KRP111", source="aws/karpenter-provider-aws v1.14.1 docs, EC2NodeClass amiSelectorTerms")
def invalid_image_version(cluster: Cluster) -> Findings:
    """The version of an AMI does not have the format of the AMI family.

    Karpenter finds no AMI with this version, and starts no node.
    """
    import re

    for path, pool in {image_path(pool): pool for pool in cluster.pools}.items():
        pattern = pool.image.alias_pattern
        if has_ami_id(pool) or pool.ami.endswith("@latest") or re.fullmatch(pattern, pool.ami):
            continue
        example = {"bottlerocket": "bottlerocket@v1.54.0"}.get(pool.image.id, f"{pool.image.id}@v20260815")
        actual = f"image {pool.ami} of node pool {pool.name} is not a version of AMI family {pool.image.id}"
        yield path, f"{actual}; expected a version such as {example}"
