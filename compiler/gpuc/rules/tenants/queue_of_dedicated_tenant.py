from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN104", source="Kubernetes documentation, taints and tolerations, dedicated nodes")
def queue_of_dedicated_tenant(cluster: Cluster) -> Findings:
    """A dedicated tenant shares a queue with other tenants.

    Pods of the other tenants would run on the nodes of the dedicated tenant.
    """
    dedicated = {tenant.name for tenant in cluster.tenants if tenant.spec.isolation == "dedicated"}
    for queue in cluster.queues:
        for index, name in enumerate(queue.tenant_names):
            others = [other for other in queue.tenant_names if other != name]
            if name in dedicated and others:
                names = ", ".join(f"tenant {other}" for other in dict.fromkeys(others))
                message = f"tenant {name} is dedicated, but shares queue {queue.name} with {names}"
                related = [Related(f"tenant {name} is dedicated", ("spec", "tenants", name, "isolation"))]
                yield (*queue.path, "tenants", index), message, f"move tenant {name} to a separate queue", related
