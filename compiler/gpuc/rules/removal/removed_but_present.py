from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.cluster import Removed


@rule("REM101")
def removed_but_present(cluster: Cluster) -> Findings:
    """The spec gives a reason for the removal of an element that it still has.

    The reason would also accept a later removal for which it was not written.
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
                yield ("spec", "removed", section, name), f"{name} is still one of the {section} of the spec"
