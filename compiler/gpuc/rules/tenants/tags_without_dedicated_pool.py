from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN115", Severity.WARNING)
def tags_without_dedicated_pool(cluster: Cluster) -> Findings:
    """A tenant has tags, but no node pool is dedicated to the tenant.

    No instance gets the tags. Pods of several tenants run on the nodes of other pools.
    """
    dedicated = {pool.dedicated_to for pool in cluster.pools}
    for tenant in cluster.tenants:
        if tenant.spec.tags and tenant.name not in dedicated:
            message = f"tags of tenant {tenant.name} have no effect: no node pool is dedicated to the tenant"
            yield (*tenant.path, "tags"), message, "move the tags to the node pools of the tenant"
