from __future__ import annotations

from gpuc.model import Cluster
from gpuc.model.tags import KARPENTER_TAGS, TAGS_MAX, node_tags
from gpuc.rules import Findings, rule


@rule("KRP132", source="Amazon EC2 User Guide, tags, tag restrictions")
def too_many_tags(cluster: Cluster) -> Findings:
    """The instances of a node pool get more tags than EC2 allows.

    EC2 refuses the launch of the instances, so no node starts.
    """
    for pool in cluster.pools:
        tags = node_tags(cluster, pool)
        added = [key for key in KARPENTER_TAGS if key not in tags]
        if len(tags) + len(added) > TAGS_MAX:
            message = (
                f"instances of node pool {pool.name} get {len(tags)} tags from gpuc and the spec, and {len(added)} "
                f"from Karpenter; expected at most {TAGS_MAX} in total"
            )
            yield pool.path, message
