from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA002", source="aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go")
def efa_over_several_types(cluster: Cluster) -> Findings:
    """A node pool with EFA has several instance types.

    The EC2NodeClass lists network interfaces by network card, and the network cards differ between instance types.
    Karpenter would never start nodes of the other types.
    """
    for pool in cluster.efa_pools:
        types = list(dict.fromkeys(pool.spec.instances))
        if len(types) > 1:
            path = (*pool.path, "instances", pool.spec.instances.index(types[1]))
            message = f"node pool {pool.name} has fabric efa and types {', '.join(types)}; expected one instance type"
            yield path, message, "", [Related("fabric of the node pool is efa", (*pool.path, "fabric"))]
