from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA004", source="aws/karpenter-provider-aws v1.14.1 reference/instance-types")
def efa_without_interfaces(cluster: Cluster) -> Findings:
    """A pool has the fabric efa, but an instance type has no EFA.

    No node advertises the interfaces that pods request, so the pods stay pending forever.
    """
    for pool in cluster.efa_pools:
        for index, instance in enumerate(pool.instances):
            if not instance.efa:
                yield (*pool.path, "instances", index), f"fabric is efa, but {instance.type} has no EFA"
