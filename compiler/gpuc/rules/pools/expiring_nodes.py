from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "KRP124",
    Severity.WARNING,
    source="aws/karpenter-provider-aws v1.14.1 docs/concepts/disruption, expiration",
)
def expiring_nodes(cluster: Cluster) -> Findings:
    """Nodes with servers or runs expire.

    Karpenter drains an expired node at once: outside of disruption budgets, and before a new node has started. Nodes
    that started together expire together, so all replicas of a service can stop at the same time. A node with a run
    starts no other pods of the run until the run has ended.
    """
    for pool in cluster.pools:
        expire_after = pool.spec.expire_after
        if expire_after is not None and (pool.spec.purpose == "inference" or pool.spec.runs):
            message = (
                f"expireAfter of node pool {pool.name} is {format_duration(expire_after)}; expected no expireAfter"
            )
            yield (*pool.path, "expireAfter"), message, f"remove expireAfter from node pool {pool.name}"
