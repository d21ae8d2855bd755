from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA107", Severity.WARNING)
def profile_without_fabric(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for a fabric that no node pool of its quotas has.

    Pods get environment variables that are written for another network.
    """
    for _, namespace in cluster.namespaces:
        pools = [pool for queue in namespace.queues for pool in queue.pools]
        fabrics = {pool.spec.fabric for pool in (*pools, *(quota.pool for quota in namespace.quotas))}
        if namespace.nccl and namespace.nccl.spec.fabric not in fabrics:
            fabric = namespace.nccl.spec.fabric
            message = (
                f"namespace {namespace.name} has NCCL profile {namespace.nccl.name} for fabric {fabric}, "
                f"but no node pool in the quotas of the namespace has fabric {fabric}"
            )
            yield (*namespace.path, "nccl"), message
