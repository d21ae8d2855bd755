from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.cluster import Removed


@rule("REM101")
def removed_but_there(cluster: Cluster) -> Findings:
    """A removal has a reason, and the spec still has the element.

    The reason would accept a later removal that has nothing to do with it.
    """
    present = {
        "pools": {pool.name for pool in cluster.pools},
        "tenants": {tenant.name for tenant in cluster.tenants},
        "namespaces": set(cluster.tenant_namespaces),
        "queues": {queue.name for queue in cluster.queues},
    }
    for section in Removed.model_fields:
        for name in getattr(cluster.spec.removed, section):
            if name in present[section]:
                yield ("spec", "removed", section, name), f"{name} is among the {section} of the cluster"
