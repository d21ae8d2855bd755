from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.versions._compatibility import schema_errors


@rule("KRP022", source="aws/karpenter-provider-aws v1.14.1 docs, compatibility; catalog, releases")
def kubernetes_out_of_range(cluster: Cluster) -> Findings:
    """A component does not run on the cluster's Kubernetes version.

    Its controller does not start, or calls an API that is gone; without Karpenter no node is started.
    """
    yield from schema_errors(cluster, certain=True)
