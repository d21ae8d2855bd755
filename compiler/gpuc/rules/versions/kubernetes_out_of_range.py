from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import incompatible_components


@rule("KRP022", source="aws/karpenter-provider-aws v1.14.1 docs, compatibility; catalog, releases")
def kubernetes_out_of_range(cluster: Cluster) -> Findings:
    """A component does not run on the cluster's Kubernetes version.

    The controller of the component does not start, or calls an API that Kubernetes no longer has. Without Karpenter no
    node starts.
    """
    yield from incompatible_components(cluster, certain=True)
