from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.queues._capacity import exceeding_quotas


@rule("KRP006", Severity.WARNING, source="aws/karpenter-provider-aws v1.14.1 website/content/en/docs/faq.md")
def quotas_exceed_smallest_nodes(cluster: Cluster) -> Findings:
    """The quotas for a node pool exceed the capacity of the node pool if all nodes have the smallest instance type.

    For each batch of pending pods, Karpenter starts the cheapest instance type that fits. Whether the nodes suffice for
    the quotas depends on the order in which workloads arrive. If small nodes use up the maximum number of nodes, Kueue
    and ResourceQuotas accept workloads whose pods stay pending.
    """
    yield from exceeding_quotas(cluster, is_possible=True)
