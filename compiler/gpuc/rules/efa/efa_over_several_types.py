from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA002", source="aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go")
def efa_over_several_types(cluster: Cluster) -> Findings:
    """A pool with EFA has several instance types.

    Its node class lists network interfaces card by card, and types differ in cards: the others would never be started.
    """
    for pool in cluster.efa_pools:
        types = list(dict.fromkeys(pool.spec.instances))
        if len(types) > 1:
            path = (*pool.path, "instances", pool.spec.instances.index(types[1]))
            yield path, f"fabric efa over {', '.join(types)}; it takes one instance type"
