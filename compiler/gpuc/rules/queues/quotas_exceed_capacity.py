from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._capacity import exceeding_quotas


@rule("KRP004", source="aws/karpenter-provider-aws#8068")
def quotas_exceed_capacity(cluster: Cluster) -> Findings:
    """The sum of the quotas for a node pool exceeds the capacity of the node pool.

    Kueue and ResourceQuotas compare workloads with quotas, not with nodes, and accept workloads beyond the capacity.
    The pods of these workloads stay pending, and use quota that other workloads need.
    """
    yield from exceeding_quotas(cluster, is_possible=False)
