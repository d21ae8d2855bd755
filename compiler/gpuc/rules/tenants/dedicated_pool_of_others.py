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
    the pods of these workloads would stay pending. Without the taint, tenants would share nodes and the EFA network, to
    which NetworkPolicies do not apply.
    """
    for tenant in cluster.tenants:
        if tenant.spec.isolation != "dedicated":
            continue
        own = {pool.name for pool in tenant.pools}
        for queue in cluster.queues:
            if tenant.name in queue.tenant_names:
                continue
            for pool_quota in queue.pool_quotas:
                pool = pool_quota.pool.name
                if pool in own:
                    spec = queue.spec.quota[pool]
                    key = next(key for key in ("nodes", "shares", "slices", "gpus") if getattr(spec, key) is not None)
                    actual = f"queue {queue.name} has quota for node pool {pool}"
                    message = f"{actual}, which is dedicated to tenant {tenant.name}"
                    yield (*pool_quota.path, key), message, f"remove {pool} from quota of queue {queue.name}"
