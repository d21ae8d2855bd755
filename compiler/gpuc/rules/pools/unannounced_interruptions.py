from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP116", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, interruption")
def unannounced_interruptions(cluster: Cluster) -> Findings:
    """A node pool buys spot capacity, but the cluster has no interruption queue.

    Without the queue Karpenter gets no notice when EC2 takes a node back. After two minutes the pods of the node are
    killed, before Karpenter starts another node.
    """
    if cluster.aws.interruption_queue is not None:
        return
    for pool in cluster.pools:
        if "spot" in pool.spec.purchase:
            path = (*pool.path, "purchase", pool.spec.purchase.index("spot"))
            yield path, f"node pool {pool.name} buys spot capacity, but cloud.aws.interruptionQueue is missing"
