from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "TEN103",
    source="Kubernetes documentation, dedicated nodes; aws/amazon-vpc-cni-k8s README, network policy",
)
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """A pool of a dedicated tenant is named by another tenant's queue.

    The pool's nodes carry the taint of the one tenant. Others' work would be admitted and never scheduled; without the
    taint it would share nodes, and EFA traffic between them, which no NetworkPolicy sees.
    """
    for tenant in cluster.tenants:
        if tenant.spec.isolation != "dedicated":
            continue
        own = {pool.name for pool in tenant.pools}
        for queue in cluster.queues:
            if tenant.name in queue.tenant_names:
                continue
            for share in queue.shares:
                if share.pool.name in own:
                    quota = queue.spec.quota[share.pool.name]
                    key = next(key for key in ("nodes", "shares", "slices", "gpus") if getattr(quota, key) is not None)
                    message = f"{share.pool.name} is dedicated to {tenant.name}; {queue.name} may not name it"
                    yield (*share.path, key), message
