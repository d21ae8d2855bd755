from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Breaches, rule
from gpuc.rules.versions._compatibility import mismatches


@rule("KRP022", source="aws/karpenter-provider-aws v1.14.1 docs, compatibility; catalog, releases")
def kubernetes_out_of_range(cluster: Cluster) -> Breaches:
    """A component does not run on the cluster's Kubernetes version.

    Its controller does not start, or calls an API that is gone; without Karpenter no node is started.
    """
    yield from mismatches(cluster, certain=True)
