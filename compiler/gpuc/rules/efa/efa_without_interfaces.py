from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA004", source="aws/karpenter-provider-aws v1.14.1 reference/instance-types")
def efa_without_interfaces(cluster: Cluster) -> Findings:
    """A node pool has fabric efa, but one of its instance types does not support EFA.

    Nodes of this type do not advertise the EFA interfaces that pods request, so the pods stay pending.
    """
    for pool in cluster.efa_pools:
        for index, instance in enumerate(pool.instances):
            if not instance.efa:
                message = f"node pool {pool.name} has fabric efa, but {instance.type} does not support EFA"
                yield (*pool.path, "instances", index), message
