from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "TEN103",
    source="Kubernetes documentation, dedicated nodes; aws/amazon-vpc-cni-k8s README, network policy",
)
def dedicated_pool_of_others(cluster: Cluster) -> Findings:
    """A queue of other tenants has quota for the node pool of a dedicated tenant.

    The nodes of the node pool have the taint of the dedicated tenant. Kueue would admit workloads of other tenants, but
    their pods would stay pending. Without the taint, tenants would share nodes and the EFA network, to which
    NetworkPolicies do not apply.
    """
    for tenant in cluster.tenants:
        if tenant.spec.isolation != "dedicated":
            continue
        own = {pool.name for pool in tenant.pools}
        for queue in cluster.queues:
            if tenant.name in queue.tenant_names:
                continue
            for pool_quota in queue.pool_quotas:
                if pool_quota.pool.name in own:
                    quota = queue.spec.quota[pool_quota.pool.name]
                    key = next(key for key in ("nodes", "shares", "slices", "gpus") if getattr(quota, key) is not None)
                    actual = f"queue {queue.name} has quota for node pool {pool_quota.pool.name}"
                    message = f"{actual}, which is dedicated to tenant {tenant.name}"
                    yield (
                        (*pool_quota.path, key),
                        message,
                        f"remove {pool_quota.pool.name} from quota of queue {queue.name}",
                    )
