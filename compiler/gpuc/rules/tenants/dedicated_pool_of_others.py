from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "TEN103",
    source="Kubernetes documentation, dedicated nodes; aws/amazon-vpc-cni-k8s README, network policy",
)
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """A queue of another tenant uses the pool of a dedicated tenant.

    The nodes of the pool have the taint of the dedicated tenant. Kueue would admit the work of other tenants, but no
    node would run it. Without the taint, tenants would share nodes and also EFA traffic, which NetworkPolicies do not
    cover.
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
                    message = f"{share.pool.name} is dedicated to {tenant.name}; queue {queue.name} may not use it"
                    yield (*share.path, key), message
